import CAssets
import Foundation

/// The rules for passwords (NIST SP 800-63B): long enough, and not one that attackers try first. Any character is
/// allowed, none is required.
public struct PasswordRules: Sendable {
    /// In characters.
    public let minimum: Int
    /// Forbidden passwords in addition to the built-in list, in lower case.
    public let blocked: Set<String>

    /// More bytes would cost time to normalise without adding safety.
    public static let mostBytes = 1_024
    /// Many good passwords contain a shorter name by chance.
    private static let shortestName = 3

    public init(minimum: Int = 8, blocked: Set<String> = []) {
        self.minimum = minimum
        self.blocked = blocked
    }

    /// The rule that a password breaks, as text to follow its member's name in an error; `nil` if there is none.
    ///
    /// - Parameter names: Public names of its owner: the part of the address before the @, the username.
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

    /// The passwords in a list, one a line.
    public static func list(_ text: String) -> Set<String> {
        Set(
            text.split(whereSeparator: \.isNewline).map {
                $0.trimmingCharacters(in: .whitespaces).precomposedStringWithCompatibilityMapping.lowercased()
            }.filter { !$0.isEmpty })
    }

    /// The built-in list, by the frequencies in leaked passwords.
    private static let common: Set<String> = {
        let asset = asset_common_passwords()
        return list(String(decoding: UnsafeBufferPointer(start: asset.bytes, count: asset.count), as: UTF8.self))
    }()
}
