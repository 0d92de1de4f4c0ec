import Foundation

extension User {
    /// The rule for e-mail addresses in forms. It only decides whether a request to the server is worthwhile.
    public enum EmailRule {
        /// The longest address, in bytes (RFC 5321).
        public static let maximumLength = 254

        /// The address without leading and trailing white space, as it is sent.
        public static func trimmed(_ email: String) -> String {
            email.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// The fault of an address, as a text for users; `nil` if it is well-formed. Only a mail can show whether the
        /// address exists.
        public static func fault(in email: String) -> String? {
            let email = trimmed(email)
            let isValid =
                email.utf8.count <= maximumLength
                && email.wholeMatch(of: /[A-Za-z0-9._%+\-]+@[A-Za-z0-9.\-]+\.[A-Za-z]{2,63}/) != nil
            return isValid ? nil : Sentence.emailInvalid.text()
        }
    }
}
