import Foundation

/// The rule for e-mail addresses in forms: whether it is worth asking the server.
public enum EmailRule {
    /// The longest address, in bytes (RFC 5321).
    public static let maximumLength = 254

    /// Without white space at its ends, as it is sent.
    public static func trimmed(_ email: String) -> String {
        email.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// What is wrong with an address, for people; `nil` if nothing is. Whether mail arrives there, only a mail can tell.
    public static func fault(in email: String) -> String? {
        let email = trimmed(email)
        let isValid =
            email.utf8.count <= maximumLength
            && email.wholeMatch(of: /[A-Za-z0-9._%+\-]+@[A-Za-z0-9.\-]+\.[A-Za-z]{2,63}/) != nil
        return isValid ? nil : "Please enter a valid email address."
    }
}
