/// The reason why a request was rejected. Open: a later server may send codes that this library does not know.
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not JSON, no `type`, a member missing or of the wrong kind.
    public static let badRequest = ErrorCode(rawValue: "bad_request")
    /// A `type` that the server does not know.
    public static let unknownType = ErrorCode(rawValue: "unknown_type")
    /// No valid token.
    public static let unauthorized = ErrorCode(rawValue: "unauthorized")
    /// The user is banned, or banned in this conversation, with `reason` and `until`.
    public static let banned = ErrorCode(rawValue: "banned")
    /// The text was refused by a check of the operator; `reason` may have the words for its sender.
    public static let refused = ErrorCode(rawValue: "refused")
    /// Not allowed to do this.
    public static let forbidden = ErrorCode(rawValue: "forbidden")
    /// The requested object does not exist.
    public static let notFound = ErrorCode(rawValue: "not_found")
    /// The message or value has too many bytes.
    public static let tooLarge = ErrorCode(rawValue: "too_large")
    /// A value out of range; `field` names it.
    public static let validationFailed = ErrorCode(rawValue: "validation_failed")
    /// Another user has the name or address, or the object changed meanwhile.
    public static let conflict = ErrorCode(rawValue: "conflict")
    /// A limit on a number is exceeded.
    public static let tooMany = ErrorCode(rawValue: "too_many")
    /// The requests are too fast; `retryAfter` is the time to wait.
    public static let rateLimited = ErrorCode(rawValue: "rate_limited")
    /// The server cannot reach its store; `retryAfter` is the time to wait.
    public static let unavailable = ErrorCode(rawValue: "unavailable")
    /// A fault of the server.
    public static let `internal` = ErrorCode(rawValue: "internal")
}

/// The reason why a WebSocket was closed. The range determines whether the client should reconnect.
public struct CloseCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let normal = CloseCode(rawValue: 1000)
    public static let goingAway = CloseCode(rawValue: 1001)
    public static let unsupportedData = CloseCode(rawValue: 1003)
    public static let invalidUTF8 = CloseCode(rawValue: 1007)
    public static let policyViolation = CloseCode(rawValue: 1008)
    public static let messageTooBig = CloseCode(rawValue: 1009)
    /// The server restarts; the reason is JSON `{"reconnectAfter":ms}`.
    public static let serviceRestart = CloseCode(rawValue: 1012)
    /// The server is full; the reason is JSON `{"reconnectAfter":ms}`.
    public static let tryAgainLater = CloseCode(rawValue: 1013)
    public static let unauthorized = CloseCode(rawValue: 4001)
    public static let tokenExpired = CloseCode(rawValue: 4002)
    public static let noConnect = CloseCode(rawValue: 4003)
    /// The user is banned; the reason is JSON `{"code":"banned","until":ms,"reason":text}`. The code is that of
    /// `noConnect`, whose reason is not JSON.
    public static let banned = CloseCode(rawValue: 4003)
    /// The same device has connected again.
    public static let replaced = CloseCode(rawValue: 4004)
    /// Nothing could be written for 30 s.
    public static let tooSlow = CloseCode(rawValue: 4005)
    /// Disconnected by an administrator.
    public static let disconnected = CloseCode(rawValue: 4006)
}
