import PresenceKit

// Reasons of the errors of accounts.
extension PresenceError.Reason {
    /// Unknown user, wrong password or disabled account, without distinction.
    public static let invalidCredentials = Self(rawValue: "invalid_credentials")
    /// The link or the session is no longer valid.
    public static let tokenExpired = Self(rawValue: "token_expired")
    /// A refresh token was used twice, so the session was ended: it may have been stolen.
    public static let tokenReused = Self(rawValue: "token_reused")
    /// Another account has this address.
    public static let emailTaken = Self(rawValue: "email_taken")
    /// Another account has this username.
    public static let usernameTaken = Self(rawValue: "username_taken")
    /// The account is no guest's, or another upgrade came first.
    public static let alreadyUpgraded = Self(rawValue: "already_upgraded")
    /// The server has no guests.
    public static let guestsOff = Self(rawValue: "guests_off")
    /// The account has no password: it is a guest's, or was made with a code by mail.
    public static let noPassword = Self(rawValue: "no_password")
    /// Another account has this identity.
    public static let identityTaken = Self(rawValue: "identity_taken")
    /// The account would have no way to sign in any more.
    public static let lastSignIn = Self(rawValue: "last_sign_in")
    /// The address is malformed.
    public static let invalidEmail = Self(rawValue: "invalid_email")
    /// Too short, too common, or similar to the user's name; ``PresenceError/message`` has the rule.
    public static let weakPassword = Self(rawValue: "weak_password")
    /// The name violates the rule (`User.UsernameRule`).
    public static let invalidUsername = Self(rawValue: "invalid_username")
    /// The name is reserved.
    public static let reservedUsername = Self(rawValue: "reserved_username")
    /// The picture is neither a JPEG nor a PNG, or cannot be decoded.
    public static let photoNotAnImage = Self(rawValue: "photo_not_an_image")
    /// The picture has more than 5 MiB, or too many pixels.
    public static let photoTooLarge = Self(rawValue: "photo_too_large")
}
