import Foundation

/// The rule for display names, with the texts that people are shown.
public enum DisplayNameRule {
    public static let maximumLength = 50

    /// Without white space at its ends, as it is stored.
    public static func trimmed(_ name: String) -> String {
        name.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// What is wrong with a name, for people; `nil` if nothing is.
    public static func fault(in name: String) -> String? {
        let name = trimmed(name)
        if name.isEmpty { return "Display name cannot be empty" }
        if name.count > maximumLength { return "Display name must be \(maximumLength) characters or less" }
        return nil
    }

    /// The name that a user has before they choose one: the part of the e-mail address before `@`, cut to length; `User`
    /// without one.
    public static func standard(for email: String?) -> String {
        let prefix = trimmed(String(email?.prefix { $0 != "@" } ?? ""))
        return prefix.isEmpty ? "User" : String(prefix.prefix(maximumLength))
    }
}
