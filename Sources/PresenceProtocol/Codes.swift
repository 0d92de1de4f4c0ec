/// Why a request was refused. Open: a later server may send codes that this library does not know.
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not JSON, no `type`, a member missing or of the wrong kind.
    public static let badRequest = ErrorCode(rawValue: "bad_request")
    /// A `type` that the server does not know.
    public static let unknownType = ErrorCode(rawValue: "unknown_type")
    /// No valid token.
    public static let unauthorized = ErrorCode(rawValue: "unauthorized")
    /// Not allowed to do this.
    public static let forbidden = ErrorCode(rawValue: "forbidden")
    /// There is no such thing.
    public static let notFound = ErrorCode(rawValue: "not_found")
    /// More bytes than may be.
    public static let tooLarge = ErrorCode(rawValue: "too_large")
    /// A value out of bounds; `field` says which.
    public static let validationFailed = ErrorCode(rawValue: "validation_failed")
    /// Someone else holds it, or it changed meanwhile.
    public static let conflict = ErrorCode(rawValue: "conflict")
    /// A limit of number.
    public static let tooMany = ErrorCode(rawValue: "too_many")
    /// Too fast; `retryAfter` says how long to wait.
    public static let rateLimited = ErrorCode(rawValue: "rate_limited")
    /// The store is out of reach; `retryAfter` says when to try again.
    public static let unavailable = ErrorCode(rawValue: "unavailable")
    /// The server's fault.
    public static let `internal` = ErrorCode(rawValue: "internal")
}

/// Why a WebSocket was closed; the range tells whether to come back.
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
    /// Full; the reason is JSON `{"reconnectAfter":ms}`.
    public static let tryAgainLater = CloseCode(rawValue: 1013)
    public static let unauthorized = CloseCode(rawValue: 4001)
    public static let tokenExpired = CloseCode(rawValue: 4002)
    public static let noConnect = CloseCode(rawValue: 4003)
    /// The same device connected anew.
    public static let replaced = CloseCode(rawValue: 4004)
    /// Nothing could be written for 30 s.
    public static let tooSlow = CloseCode(rawValue: 4005)
    /// Disconnected by an administrator.
    public static let disconnected = CloseCode(rawValue: 4006)
}
