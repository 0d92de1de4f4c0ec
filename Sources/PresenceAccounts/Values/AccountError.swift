/// The error of accounts. Programs use ``code`` and ``reason``, developers read ``message``, users read
/// `localizedDescription`.
///
/// A call whose task was cancelled throws `CancellationError` instead.
public struct AccountError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, for programs.
    public var code: Code
    /// The exact reason, if the server returned one.
    public var reason: Reason?
    /// The member of the request that is at fault.
    public var field: String?
    /// The reason in English, for developers and logs.
    public var message: String
    /// How long to wait before a retry, if a retry makes sense.
    public var retryAfter: Duration?
    /// Whether the server may have carried out the request: it was sent, but its response was lost.
    public var outcomeUnknown: Bool

    /// Creates an error, for fakes.
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

    /// Open, like ``Code``.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
}

extension AccountError.Code {
    // Codes that the server sends.

    /// The server did not understand the request.
    public static let badRequest = Self(rawValue: "bad_request")
    /// Wrong password, rejected token, or a link that is no longer valid; see ``AccountError/reason``.
    public static let unauthorized = Self(rawValue: "unauthorized")
    /// The user is not allowed to do this.
    public static let forbidden = Self(rawValue: "forbidden")
    /// The session or account does not exist, or the server has accounts disabled.
    public static let notFound = Self(rawValue: "not_found")
    /// Another user has the e-mail or the username.
    public static let conflict = Self(rawValue: "conflict")
    /// A value is invalid; ``AccountError/field`` names it.
    public static let validationFailed = Self(rawValue: "validation_failed")
    /// The request has more bytes than the server accepts.
    public static let tooLarge = Self(rawValue: "too_large")
    /// Too many attempts; ``AccountError/retryAfter`` is the time to wait.
    public static let rateLimited = Self(rawValue: "rate_limited")
    /// The server cannot do this now; ``AccountError/retryAfter`` is the time to wait.
    public static let unavailable = Self(rawValue: "unavailable")

    // Codes of this library.

    /// No user is signed in, or they signed out in the meantime.
    public static let notSignedIn = Self(rawValue: "not_signed_in")
    /// The server could not be reached.
    public static let notConnected = Self(rawValue: "not_connected")
    /// The connection broke, or no response arrived in time. ``AccountError/outcomeUnknown`` is true if the request may
    /// have been carried out.
    public static let connectionLost = Self(rawValue: "connection_lost")
    /// The response is not that of a presence server, but of a proxy or a portal.
    public static let notAnAnswer = Self(rawValue: "not_an_answer")
    /// The session could not be stored on this device, or the stored one cannot be read.
    public static let storageFailed = Self(rawValue: "storage_failed")
}

extension AccountError.Reason {
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
    /// The address is malformed.
    public static let invalidEmail = Self(rawValue: "invalid_email")
    /// Too short, too common, or similar to the user's name; ``AccountError/message`` has the rule.
    public static let weakPassword = Self(rawValue: "weak_password")
    /// The name violates the rule (`UsernameRule`).
    public static let invalidUsername = Self(rawValue: "invalid_username")
    /// The name is reserved.
    public static let reservedUsername = Self(rawValue: "reserved_username")
    /// The picture is neither a JPEG nor a PNG, or cannot be decoded.
    public static let photoNotAnImage = Self(rawValue: "photo_not_an_image")
    /// The picture has more than 5 MiB, or too many pixels.
    public static let photoTooLarge = Self(rawValue: "photo_too_large")
}
