import CAssets
import Foundation

/// What a password must be (NIST SP 800-63B): long enough, and nothing that an attacker tries first. Any character is
/// allowed, none is demanded.
public struct PasswordRules: Sendable {
    /// In characters.
    public let minimum: Int
    /// Passwords that are none, beside those that the program knows: in lower case.
    public let blocked: Set<String>

    /// More would cost time to normalise, and makes nothing safer.
    public static let mostBytes = 1_024
    /// A name shorter than this is in too many good passwords.
    private static let shortestName = 3

    public init(minimum: Int = 8, blocked: Set<String> = []) {
        self.minimum = minimum
        self.blocked = blocked
    }

    /// What is wrong with a password, to stand after its member's name in an error; `nil` if nothing is.
    ///
    /// - Parameter names: What others know of its owner: the part of the address before the @, the username.
    public func brokenRule(by password: String, names: [String]) -> String? {
        guard password.utf8.count <= Self.mostBytes else { return "must be at most \(Self.mostBytes) bytes long" }
        let text = password.precomposedStringWithCompatibilityMapping
        guard text.count >= minimum else { return "must be at least \(minimum) characters long" }
        let lower = text.lowercased()
        guard !Self.common.contains(lower), !blocked.contains(lower), Set(lower).count > 1 else {
            return "must not be one that is used often"
        }
        for name in names.map({ $0.lowercased() }) where name.count >= Self.shortestName && lower.contains(name) {
            return "must not contain the own name or address"
        }
        return nil
    }

    /// What a list of passwords has, one a line.
    public static func list(_ text: String) -> Set<String> {
        Set(
            text.split(whereSeparator: \.isNewline).map {
                $0.trimmingCharacters(in: .whitespaces).precomposedStringWithCompatibilityMapping.lowercased()
            }.filter { !$0.isEmpty })
    }

    /// Those of the program: from the frequencies of leaked passwords.
    private static let common: Set<String> = {
        let asset = asset_common_passwords()
        return list(String(decoding: UnsafeBufferPointer(start: asset.bytes, count: asset.count), as: UTF8.self))
    }()
}
