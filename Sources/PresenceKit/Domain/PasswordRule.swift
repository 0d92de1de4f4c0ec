extension User {
    /// The rule for new passwords, as far as a form can check it: the server also rejects common passwords and those that
    /// contain the user's name.
    public struct PasswordRule: Hashable, Sendable {
        /// The minimum length in characters: the server's `accounts.password.minimum`.
        public let minimumLength: Int
        /// The maximum length in bytes.
        public static let maximumBytes = 1_024

        /// Creates the rule of a server.
        public init(minimumLength: Int = 8) {
            self.minimumLength = minimumLength
        }

        /// The fault of a password, as a text for users; `nil` if the form finds none.
        public func fault(in password: String) -> String? {
            if password.count < minimumLength { return Sentence.passwordShort.text(minimumLength) }
            if password.utf8.count > Self.maximumBytes { return Sentence.passwordLong.text() }
            return nil
        }
    }
}
