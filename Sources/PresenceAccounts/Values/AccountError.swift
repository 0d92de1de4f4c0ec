/// The one error of accounts: why something asked for was not done. Programs read ``code`` and ``reason``, developers
/// ``message``, people `localizedDescription`.
///
/// A call whose task was cancelled throws `CancellationError` instead.
public struct AccountError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why, for programs: the kind of error.
    public var code: Code
    /// What exactly is wrong, where the server says so.
    public var reason: Reason?
    /// The member of the request that it is about.
    public var field: String?
    /// For developers and logs, in English.
    public var message: String
    /// When it makes sense to try again.
    public var retryAfter: Duration?
    /// Whether the server may have done what was asked all the same: it was sent, and its answer was lost.
    public var outcomeUnknown: Bool

    /// Makes an error, as a fake needs it.
    public init(
        _ code: Code, _ message: String = "", reason: Reason? = nil, field: String? = nil, retryAfter: Duration? = nil,
        outcomeUnknown: Bool = false
    ) {
        self.code = code
        self.message = message
        self.reason = reason
        self.field = field
        self.retryAfter = retryAfter
        self.outcomeUnknown = outcomeUnknown
    }

    public var description: String {
        var text = code.rawValue
        if let reason { text += "/\(reason.rawValue)" }
        if !message.isEmpty { text += ": \(message)" }
        if let field { text += " (\(field))" }
        return text
    }

    /// Open: a later server may send codes that this library does not know.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// Open, as ``Code``.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
}

extension AccountError.Code {
    // What the server says.

    /// The server did not understand the request.
    public static let badRequest = Self(rawValue: "bad_request")
    /// Wrong password, refused token, or a link that is no longer valid: ``AccountError/reason`` says which.
    public static let unauthorized = Self(rawValue: "unauthorized")
    /// Not allowed to do this.
    public static let forbidden = Self(rawValue: "forbidden")
    /// There is no such session or account, or the server has accounts switched off.
    public static let notFound = Self(rawValue: "not_found")
    /// Somebody else has the e-mail or the username.
    public static let conflict = Self(rawValue: "conflict")
    /// A value cannot be used; ``AccountError/field`` says which.
    public static let validationFailed = Self(rawValue: "validation_failed")
    /// More bytes than the server takes.
    public static let tooLarge = Self(rawValue: "too_large")
    /// Too many tries; ``AccountError/retryAfter`` says how long to wait.
    public static let rateLimited = Self(rawValue: "rate_limited")
    /// The server cannot do it now; ``AccountError/retryAfter`` says when to try again.
    public static let unavailable = Self(rawValue: "unavailable")

    // What this library says.

    /// Nobody is signed in, or they signed out meanwhile.
    public static let notSignedIn = Self(rawValue: "not_signed_in")
    /// The server was not reached.
    public static let notConnected = Self(rawValue: "not_connected")
    /// The connection broke, or no answer came in time; ``AccountError/outcomeUnknown`` says whether it may be done.
    public static let connectionLost = Self(rawValue: "connection_lost")
    /// What came back is not an answer of a presence server: a proxy's, or a portal's.
    public static let notAnAnswer = Self(rawValue: "not_an_answer")
    /// The session could not be kept on this device, or what is kept cannot be read.
    public static let storageFailed = Self(rawValue: "storage_failed")
}

extension AccountError.Reason {
    /// Unknown user, wrong password or disabled account, without saying which.
    public static let invalidCredentials = Self(rawValue: "invalid_credentials")
    /// The link or the session is no longer valid.
    public static let tokenExpired = Self(rawValue: "token_expired")
    /// A refresh token was used twice, so the session was ended: somebody may have stolen it.
    public static let tokenReused = Self(rawValue: "token_reused")
    /// Another account has this address.
    public static let emailTaken = Self(rawValue: "email_taken")
    /// Another account has this username.
    public static let usernameTaken = Self(rawValue: "username_taken")
    /// It is not an address.
    public static let invalidEmail = Self(rawValue: "invalid_email")
    /// Too short, too common, or made of the user's name; ``AccountError/message`` names the rule.
    public static let weakPassword = Self(rawValue: "weak_password")
    /// It breaks the rule (`UsernameRule`).
    public static let invalidUsername = Self(rawValue: "invalid_username")
    /// Nobody may have it.
    public static let reservedUsername = Self(rawValue: "reserved_username")
    /// It is neither a JPEG nor a PNG, or cannot be read.
    public static let photoNotAnImage = Self(rawValue: "photo_not_an_image")
    /// It has more than 5 MiB, or too many pixels.
    public static let photoTooLarge = Self(rawValue: "photo_too_large")
}
