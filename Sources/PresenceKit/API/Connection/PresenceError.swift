import PresenceProtocol

/// The one error of this library: why something asked for was not done. Programs read ``code``, developers ``message``,
/// people `localizedDescription` and `recoverySuggestion`.
///
/// A call whose task was cancelled throws `CancellationError` instead.
public struct PresenceError: Error, Codable, Hashable, Sendable, CustomStringConvertible {
    /// Why, for programs.
    public var code: Code
    /// For developers and logs, in English.
    public var message: String
    /// With `validationFailed`: the member that is out of bounds.
    public var field: String?
    /// When it makes sense to try again.
    public var retryAfter: Duration?
    /// Whether the server may have done what was asked all the same: it was sent, and its answer was lost.
    public var outcomeUnknown: Bool

    /// Makes an error, as a fake or an app's own token provider needs it.
    public init(
        _ code: Code, _ message: String, field: String? = nil, retryAfter: Duration? = nil,
        outcomeUnknown: Bool = false
    ) {
        self.code = code
        self.message = message
        self.field = field
        self.retryAfter = retryAfter
        self.outcomeUnknown = outcomeUnknown
    }

    public var description: String {
        var text = "\(code.rawValue): \(message)"
        if let field { text += " (\(field))" }
        return text
    }

    /// Why. Open: a later server may send codes that this library does not know.
    public struct Code: RawRepresentable, Codable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
}

extension PresenceError.Code {
    // What the server says.

    /// The server did not understand the request.
    public static let badRequest = Self(.badRequest)
    /// The server does not know this request.
    public static let unknownType = Self(.unknownType)
    /// No valid token. Thrown by a token provider, it ends the attempts to connect.
    public static let unauthorized = Self(.unauthorized)
    /// Not allowed to do this; also for a conversation that does not exist.
    public static let forbidden = Self(.forbidden)
    /// A value out of bounds; `field` says which.
    public static let validationFailed = Self(.validationFailed)
    /// Someone else holds it, or it changed meanwhile.
    public static let conflict = Self(.conflict)
    /// What it is about is not there.
    public static let notFound = Self(.notFound)
    /// A limit of number.
    public static let tooMany = Self(.tooMany)
    /// Too fast; `retryAfter` says how long to wait.
    public static let rateLimited = Self(.rateLimited)
    /// The server's store is out of reach; `retryAfter` says when to try again.
    public static let unavailable = Self(.unavailable)
    /// More bytes than the server takes.
    public static let tooLarge = Self(rawValue: "too_large")
    /// The server's fault.
    public static let internalError = Self(.internal)

    // What this library says.

    /// Not an id: 1 to 128 bytes of printable ASCII without space.
    public static let invalidID = Self(rawValue: "invalid_id")
    /// The URL is not one of a WebSocket.
    public static let invalidURL = Self(rawValue: "invalid_url")
    /// The server has this switched off, or is too old for it.
    public static let notOffered = Self(rawValue: "not_offered")
    /// There is no connection.
    public static let notConnected = Self(rawValue: "not_connected")
    /// The connection broke; `outcomeUnknown` says whether the request had been sent.
    public static let connectionLost = Self(rawValue: "connection_lost")
    /// No answer came within ``PresenceClient/Configuration/requestTimeout``.
    public static let timedOut = Self(rawValue: "timed_out")
    /// The task was cancelled: thrown as `CancellationError`.
    package static let cancelled = Self(rawValue: "cancelled")
    /// The token provider threw.
    public static let tokenUnavailable = Self(rawValue: "token_unavailable")
    /// The server said or did something that the protocol does not allow, or says that this library did.
    public static let protocolViolation = Self(rawValue: "protocol_violation")
    /// The same device connected anew elsewhere.
    public static let replaced = Self(rawValue: "replaced")
    /// An administrator ended the connection.
    public static let disconnectedByAdministrator = Self(rawValue: "disconnected_by_administrator")
    /// The server restarts or is full.
    public static let serverUnavailable = Self(rawValue: "server_unavailable")
    /// The app signed out, disconnected or changed the user meanwhile.
    public static let signedOut = Self(rawValue: "signed_out")

    /// What was asked for could not be written to the ``Storage``.
    public static let storageFailed = Self(rawValue: "storage_failed")

    init(_ code: ErrorCode) { self.init(rawValue: code.rawValue) }
}

extension PresenceError {
    /// The same as a call of an app throws it: `CancellationError` if the call's task was cancelled.
    package var thrown: any Error { code == .cancelled ? CancellationError() : self }

    init(_ message: ServerMessage.ErrorMessage) {
        self.init(
            Code(message.code), message.message, field: message.field,
            retryAfter: message.retryAfter.map { .milliseconds($0) }, outcomeUnknown: message.outcomeUnknown)
    }

    /// Whether the same request may be answered later.
    package var isPassing: Bool {
        switch code {
        case .badRequest, .unknownType, .forbidden, .validationFailed, .conflict, .notFound: false
        case .tooLarge, .notOffered: false
        // Of some numbers the server says when there may be room: of a user's connections, which come and go.
        case .tooMany: retryAfter != nil
        default: true
        }
    }

    /// Whether nothing says that the same request will be answered otherwise later, though it may be: a fault of the server's, or a
    /// code that this version does not know.
    package var isUnexplained: Bool {
        guard retryAfter == nil, isPassing else { return false }
        return switch code {
        case .unauthorized, .rateLimited, .unavailable: false
        case .notConnected, .connectionLost, .timedOut, .cancelled, .tokenUnavailable, .signedOut, .storageFailed: false
        case .replaced, .disconnectedByAdministrator, .serverUnavailable: false
        default: true
        }
    }

    /// How long to wait before the same request is made again; never so short that it becomes a flood.
    package var delay: Duration { max(retryAfter ?? .seconds(1), .milliseconds(100)) }

    /// The same after so many answers in a row that nothing explains: twice as long after each, up to a minute or so.
    package func delay(after faults: Int) -> Duration {
        isUnexplained ? delay * (1 << min(max(0, faults - 1), 6)) : delay
    }
}
