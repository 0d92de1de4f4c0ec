import Foundation
import PresenceProtocol

/// The error of this library. Programs use ``code``, developers read ``message``, users read `localizedDescription` and
/// `recoverySuggestion`.
///
/// A call whose task was cancelled throws `CancellationError` instead.
public struct PresenceError: Error, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The reason, for programs.
    public var code: Code
    /// The reason in English, for developers and logs.
    public var message: String
    /// The exact reason, if the server returned one: errors of accounts and of uploads have it.
    public var reason: Reason?
    /// The name of the invalid member, with `validationFailed`; with some other codes, of the member at fault.
    public var field: String?
    /// How long to wait before a retry, if a retry makes sense.
    public var retryAfter: Duration?
    /// The end of a ban, with ``Code/banned``; `nil` if it has none.
    public var until: Date?
    /// Whether the server may have carried out the request: it was sent, but its reply was lost.
    public var outcomeUnknown: Bool
    /// The text for users, if it is not the usual text of code and reason.
    public var sentence: String?
    /// The advice for users, if it is not the usual advice of the code; with a ``sentence`` this is the only advice.
    public var recovery: String?

    /// Creates an error, for fakes, for an app's own repositories and for its own token provider.
    public init(
        _ code: Code, _ message: String = "", reason: Reason? = nil, field: String? = nil, retryAfter: Duration? = nil,
        until: Date? = nil, outcomeUnknown: Bool = false, sentence: String? = nil, recovery: String? = nil
    ) {
        (self.code, self.message, self.reason) = (code, message, reason)
        (self.field, self.retryAfter, self.until) = (field, retryAfter, until)
        (self.outcomeUnknown, self.sentence, self.recovery) = (outcomeUnknown, sentence, recovery)
    }

    public var description: String {
        var text = code.rawValue
        if let reason { text += "/\(reason.rawValue)" }
        if !message.isEmpty { text += ": \(message)" }
        if let field { text += " (\(field))" }
        return text
    }

    /// The kind of an error. Open: a newer server may send codes that this library does not know.
    public struct Code: RawRepresentable, Codable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The exact reason of an error. Open, like ``Code``.
    public struct Reason: RawRepresentable, Codable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
}

extension PresenceError.Code {
    // Codes that the server sends.

    /// The server did not understand the request.
    public static let badRequest = Self(.badRequest)
    /// The server does not know this type of request.
    public static let unknownType = Self(.unknownType)
    /// There is no valid token. If a token provider throws this, the client stops trying to connect. With a ``reason``
    /// it is the rejection of a request of accounts, and the client calls the provider again.
    public static let unauthorized = Self(.unauthorized)
    /// An operator has banned the user, everywhere or in this conversation: ``PresenceError/reason`` has the operator's
    /// words, ``PresenceError/until`` the end. The client does not connect again by itself.
    public static let banned = Self(.banned)
    /// A check of the operator refused the text: ``PresenceError/reason`` may have the words for its sender.
    public static let refused = Self(.refused)
    /// The user is not allowed to do this. Also returned for a conversation that does not exist.
    public static let forbidden = Self(.forbidden)
    /// A value is invalid; `field` names it.
    public static let validationFailed = Self(.validationFailed)
    /// The value is taken by another user, or it changed in the meantime.
    public static let conflict = Self(.conflict)
    /// The object of the request does not exist.
    public static let notFound = Self(.notFound)
    /// The request exceeds a limit on a number of objects.
    public static let tooMany = Self(.tooMany)
    /// Requests come too fast; `retryAfter` is the time to wait.
    public static let rateLimited = Self(.rateLimited)
    /// The server cannot reach its store; `retryAfter` is the time to wait.
    public static let unavailable = Self(.unavailable)
    /// The request has more bytes than the server accepts.
    public static let tooLarge = Self(rawValue: "too_large")
    /// The server has an internal fault.
    public static let internalError = Self(.internal)

    // Codes of this library.

    /// Not a valid id: ids have 1 to 128 bytes of printable ASCII without spaces.
    public static let invalidID = Self(rawValue: "invalid_id")
    /// The URL is not a WebSocket URL.
    public static let invalidURL = Self(rawValue: "invalid_url")
    /// The server has this feature disabled, or is too old for it.
    public static let notOffered = Self(rawValue: "not_offered")
    /// There is no connection.
    public static let notConnected = Self(rawValue: "not_connected")
    /// The connection broke. `outcomeUnknown` is true if the request had been sent.
    public static let connectionLost = Self(rawValue: "connection_lost")
    /// No reply arrived within ``PresenceClient/Configuration/requestTimeout``.
    public static let timedOut = Self(rawValue: "timed_out")
    /// The calling task was cancelled. Calls throw it as `CancellationError`.
    package static let cancelled = Self(rawValue: "cancelled")
    /// The token provider threw.
    public static let tokenUnavailable = Self(rawValue: "token_unavailable")
    /// The server violated the protocol, or reports that this library did.
    public static let protocolViolation = Self(rawValue: "protocol_violation")
    /// The same device connected elsewhere and replaced this connection.
    public static let replaced = Self(rawValue: "replaced")
    /// An administrator ended the connection.
    public static let disconnectedByAdministrator = Self(rawValue: "disconnected_by_administrator")
    /// The server is restarting or full.
    public static let serverUnavailable = Self(rawValue: "server_unavailable")
    /// The app signed out, disconnected or changed the user in the meantime.
    public static let signedOut = Self(rawValue: "signed_out")

    /// No user is signed in to the account, or they signed out in the meantime.
    public static let notSignedIn = Self(rawValue: "not_signed_in")
    /// The response is not that of a presence server, but of a proxy or a portal.
    public static let notAnAnswer = Self(rawValue: "not_an_answer")

    /// A change or the session could not be stored on this device, or what is stored cannot be read.
    public static let storageFailed = Self(rawValue: "storage_failed")
    /// Another client uses the directory of the ``Storage``.
    public static let storageInUse = Self(rawValue: "storage_in_use")

    init(_ code: ErrorCode) { self.init(rawValue: code.rawValue) }
}

extension PresenceError {
    /// The error as a call throws it: `CancellationError` if the call's task was cancelled.
    package var thrown: any Error { code == .cancelled ? CancellationError() : self }

    init(_ message: ServerMessage.ErrorMessage) {
        self.init(
            Code(message.code), message.message, reason: message.reason.map(Reason.init(rawValue:)),
            field: message.field, retryAfter: message.retryAfter.map { .milliseconds($0) },
            until: message.until.map(Date.init(timestamp:)), outcomeUnknown: message.outcomeUnknown)
    }

    /// Whether the same request may succeed later.
    package var isPassing: Bool {
        switch code {
        case .badRequest, .unknownType, .banned, .refused, .forbidden, .validationFailed, .conflict, .notFound: false
        case .tooLarge, .notOffered: false
        // For some limits, such as a user's connections, the server sends the time after which there may be room.
        case .tooMany: retryAfter != nil
        default: true
        }
    }

    /// Whether the error gives no reason to expect a different reply to the same request: a fault of the server, or a
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

    /// The delay before the same request is repeated, at least 100 ms, so that retries never become a flood.
    package var delay: Duration { max(retryAfter ?? .seconds(1), .milliseconds(100)) }

    /// The delay after this many unexplained errors in a row: doubled after each, up to about a minute.
    package func delay(after faults: Int) -> Duration {
        isUnexplained ? delay * (1 << min(max(0, faults - 1), 6)) : delay
    }
}
