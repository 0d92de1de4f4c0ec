/// The rule for new passwords, as far as a form can judge: the server also refuses common ones and those that contain the
/// user's name.
public struct PasswordRule: Hashable, Sendable {
    /// The shortest one, in characters: the server's `accounts.password.minimum`.
    public let minimumLength: Int
    /// The longest one, in bytes.
    public static let maximumBytes = 1_024

    /// Makes the rule of a server.
    public init(minimumLength: Int = 8) {
        self.minimumLength = minimumLength
    }

    /// What is wrong with a password, for people; `nil` if nothing is.
    public func fault(in password: String) -> String? {
        if password.count < minimumLength { return "Password must be at least \(minimumLength) characters." }
        if password.utf8.count > Self.maximumBytes { return "Password is too long." }
        return nil
    }
}
