import CCurl

/// The reason why there is no response. It contains nothing of the request, so it may be logged.
public enum OutgoingFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The queue is full, or the time limit has passed in it; `retryAfter`: when there may be room, in seconds, from 0.1 to
    /// 60. Nothing was sent.
    case overloaded(retryAfter: Double)
    /// The client was stopped.
    case stopped
    /// The sender's task was cancelled.
    case cancelled
    /// The request is invalid: nothing was sent.
    case invalid(String)
    /// The server's name has no address.
    case unresolved
    /// The request may not connect to this address. Nothing was sent.
    case forbidden
    /// No server accepts connections at the address. Nothing was sent.
    case unreachable
    /// The server has no TLS, or its certificate is not trusted. Nothing was sent.
    case untrusted
    /// The time limit has passed after the transfer began.
    case timeout
    /// The response is larger than allowed.
    case tooLarge
    /// The server ended the connection early, or its response is invalid.
    case broken
    /// A mail server rejected the mail, or its sender.
    case rejected(MailRefusal)
    /// libcurl's own code for anything else.
    case other(UInt32)

    /// The value of a metric's label: one word.
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
        case .forbidden: "requests to the server's address are not allowed"
        case .unreachable: "no connection to the server"
        case .untrusted: "no TLS with the server, or its certificate is not trusted or for another name"
        case .timeout: "the server did not answer in time"
        case .tooLarge: "the server's answer is too large"
        case .broken: "the server's answer broke off or is invalid"
        case .rejected(let refusal): "the server rejected it: \(refusal)"
        case .other(let code): "libcurl failed with \(code)"
        }
    }
}

extension OutgoingFailure {
    /// Why libcurl could not open a connection; `nil` for a code about something else.
    static func ofConnection(_ code: CURLcode) -> OutgoingFailure? {
        switch code {
        case CURLE_COULDNT_CONNECT, CURLE_ABORTED_BY_CALLBACK: .unreachable
        case CURLE_COULDNT_RESOLVE_HOST: .unresolved
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_URL_MALFORMAT: .invalid("the URL is malformed")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
            .untrusted
        default: nil
        }
    }
}
