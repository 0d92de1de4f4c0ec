import Foundation
import PresenceProtocol

/// The reason for which a connection or an attempt ended.
enum Ending: Hashable, Sendable {
    /// A close frame with this code and reason arrived; 1005 stands for a close frame without a code.
    case closed(code: CloseCode, reason: [UInt8])
    /// The connection broke, or could not be made.
    case lost(String)
    /// The server answered the upgrade with this HTTP status.
    case refused(status: Int)
    /// Nothing arrived within the time in which a live connection would have delivered something.
    case silent
    /// The server rejected the `connect` message, for a reason other than the token.
    case rejected(PresenceError)
    /// The token provider threw.
    case noToken(PresenceError)
    /// The server sent something that violates the protocol.
    case nonsense(String)
}

extension Ending {
    /// The ending as an error for the app.
    var error: PresenceError {
        switch self {
        case .closed(let code, let reason): Self.error(of: code, reason)
        case .lost(let what): PresenceError(.connectionLost, what)
        case .refused(let status): PresenceError(.connectionLost, "the server refused the connection (HTTP \(status))")
        case .silent: PresenceError(.connectionLost, "the server sent nothing for too long")
        case .rejected(let error), .noToken(let error): error
        case .nonsense(let what): PresenceError(.protocolViolation, what)
        }
    }

    /// Whether the token is no longer valid.
    var refusesToken: Bool {
        switch self {
        // A proxy that checks tokens answers the upgrade with 401; the server itself never does.
        case .closed(.unauthorized, _), .closed(.tokenExpired, _), .closed(.noConnect, _), .refused(401): true
        case .closed, .lost, .refused, .silent, .rejected, .noToken, .nonsense: false
        }
    }

    /// Whether a close with 1008 was due to the rate limit.
    static func isRateLimit(_ reason: [UInt8]) -> Bool {
        String(decoding: reason, as: UTF8.self).contains("too fast")
    }

    /// The error of a ban, from the reason of a close with 4003; `nil` if the close has another cause.
    static func ban(_ reason: [UInt8]) -> PresenceError? {
        struct Reason: Decodable {
            var code: String
            var until: Int64?
            var reason: String?
        }
        guard let reason = try? JSONDecoder().decode(Reason.self, from: Data(reason)),
            reason.code == PresenceError.Code.banned.rawValue
        else { return nil }
        return PresenceError(
            .banned, "this user is banned", reason: reason.reason.map(PresenceError.Reason.init(rawValue:)),
            until: reason.until.map(Date.init(timestamp:)))
    }

    private static func error(of code: CloseCode, _ reason: [UInt8]) -> PresenceError {
        switch code {
        case .policyViolation where isRateLimit(reason):
            return PresenceError(.connectionLost, "the server closed: requests came too fast")
        case .unsupportedData, .invalidUTF8, .policyViolation, .messageTooBig:
            let text = String(decoding: reason, as: UTF8.self)
            return PresenceError(.protocolViolation, "the server closed with \(code.rawValue) \(text)")
        case .serviceRestart: return PresenceError(.serverUnavailable, "the server is restarting")
        case .tryAgainLater: return PresenceError(.serverUnavailable, "the server is full")
        case .unauthorized:
            let text = String(decoding: reason, as: UTF8.self)
            let why = text.isEmpty || text == "unauthorized" ? "" : ": \(text)"
            return PresenceError(.unauthorized, "the server refused the token\(why)")
        case .tokenExpired: return PresenceError(.unauthorized, "the token expired")
        case .banned where ban(reason) != nil: return ban(reason)!
        case .noConnect: return PresenceError(.unauthorized, "the server waited too long for a token")
        case .replaced: return PresenceError(.replaced, "the same device connected elsewhere")
        case .tooSlow: return PresenceError(.connectionLost, "too slow: the server could not write for too long")
        case .disconnected:
            return PresenceError(.disconnectedByAdministrator, "an administrator ended the connection")
        default: return PresenceError(.connectionLost, "the server closed with \(code.rawValue)")
        }
    }
}

extension Ending {
    init(_ end: TransportEnd) {
        switch end {
        case .closed(let code, let reason): self = .closed(code: CloseCode(rawValue: code), reason: reason)
        case .refused(let status): self = .refused(status: status)
        case .violated(let what): self = .nonsense("the server sent \(what)")
        case .lost(let what): self = .lost(what)
        }
    }
}
