import Foundation

/// The vectors of Project Wycheproof in Tests/SigningTests/Wycheproof.
public enum Wycheproof {
    /// The groups of a file, with the members that a test uses.
    public static func groups<Group: Decodable>(_ name: String, of: Group.Type = Group.self) throws -> [Group] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = folder.appending(path: "SigningTests/Wycheproof/\(name).json")
        return try JSONDecoder().decode(File<Group>.self, from: Data(contentsOf: file)).testGroups
    }

    private struct File<Group: Decodable>: Decodable { let testGroups: [Group] }

    public enum Verdict: String, Decodable, Sendable { case valid, invalid, acceptable }

    /// Bytes in hexadecimal digits.
    public struct Hexadecimal: Decodable, Sendable {
        public let bytes: [UInt8]

        public init(from decoder: any Decoder) throws {
            let digits = Array(try decoder.singleValueContainer().decode(String.self))
            bytes = try stride(from: 0, to: digits.count, by: 2).map { place in
                guard place + 1 < digits.count, let byte = UInt8(String(digits[place...place + 1]), radix: 16) else {
                    throw DecodingError.dataCorrupted(
                        .init(codingPath: decoder.codingPath, debugDescription: "no hexadecimal digits"))
                }
                return byte
            }
        }
    }
}
