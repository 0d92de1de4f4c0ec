/// Why there is no answer. It holds nothing of the request, so it may be logged.
public enum OutgoingFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// As many wait as may; `retryAfter`: when there may be room, in seconds, from 0.1 to 60. Nothing was sent.
    case overloaded(retryAfter: Double)
    /// The client was stopped.
    case stopped
    /// Its task was cancelled.
    case cancelled
    /// The request cannot be one: nothing was sent.
    case invalid(String)
    /// The server's name has no address.
    case unresolved
    /// The address is one that this request may not go to. Nothing was sent.
    case forbidden
    /// Nobody answers at the address. Nothing was sent.
    case unreachable
    /// There is no TLS with the server, or its certificate is not to be trusted. Nothing was sent.
    case untrusted
    /// The time is over.
    case timeout
    /// The answer is larger than it may be.
    case tooLarge
    /// The server ended the connection early, or what it said makes no sense.
    case broken
    /// A mail server refused the mail, or its sender.
    case rejected(MailRefusal)
    /// libcurl's own code for anything else.
    case other(UInt32)

    /// For metrics: a word.
    public var reason: String {
        switch self {
        case .overloaded: "overloaded"
        case .stopped: "stopped"
        case .cancelled: "cancelled"
        case .invalid: "invalid"
        case .unresolved: "unresolved"
        case .forbidden: "forbidden"
        case .unreachable: "unreachable"
        case .untrusted: "untrusted"
        case .timeout: "timeout"
        case .tooLarge: "too_large"
        case .broken: "broken"
        case .rejected: "rejected"
        case .other: "other"
        }
    }

    public var description: String {
        switch self {
        case .overloaded: "too many requests wait"
        case .stopped: "no more requests are sent"
        case .cancelled: "the request was cancelled"
        case .invalid(let what): "the request cannot be sent: \(what)"
        case .unresolved: "the server's name has no address"
        case .forbidden: "the server's address is not one that this may be sent to"
        case .unreachable: "no connection to the server"
        case .untrusted: "no TLS with the server, or its certificate is not trusted or for another name"
        case .timeout: "the server did not answer in time"
        case .tooLarge: "the server's answer is too large"
        case .broken: "the server's answer broke off, or makes no sense"
        case .rejected(let refusal): "the server refused it: \(refusal)"
        case .other(let code): "libcurl failed with \(code)"
        }
    }
}
