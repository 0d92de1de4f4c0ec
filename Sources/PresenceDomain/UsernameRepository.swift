import Foundation

/// The rule for usernames, with the text that people are shown.
public enum UsernameRule {
    /// What is wrong with a name, for people; `nil` if nothing is: 3 to 30 letters, digits, periods and underscores, no
    /// period at an end, no two in a row.
    public static func fault(in name: String) -> String? {
        let bytes = Array(name.utf8)
        let isAllowed = bytes.allSatisfy { byte in
            byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        guard (3...30).contains(bytes.count), isAllowed, !name.hasPrefix("."), !name.hasSuffix("."),
            !name.contains("..")
        else { return "Invalid username format. Use 3-30 characters, letters, numbers, periods, and underscores." }
        return nil
    }
}

/// Where usernames are asked for: accounts, whatever is behind them.
public protocol UsernameRepository: Sendable {
    /// The own user's name, `nil` without one: the present one at once, then the newest after each change.
    var ownUsernames: AsyncStream<String?> { get }
    /// Whether a name may be taken now.
    func isAvailable(_ username: String) async throws -> Bool
    /// Takes a name for the own user, and gives back the one before.
    ///
    /// - Throws: ``UserError/invalid(field:reason:)`` if somebody else has it.
    func take(_ username: String) async throws
    /// Gives the own user's name back; that there is none is no error.
    func release() async throws
}
