import Foundation
import PresenceKit

/// The account requests of a presence server, and the handling of their responses.
struct AccountServer: Sendable {
    private let http: HTTPServer

    typealias Request = HTTPServer.Request

    init(url: URL, transport: any HTTPTransport, timeout: Duration) {
        http = HTTPServer(url: url, transport: transport, timeout: timeout)
    }

    /// Sends a request and returns the response.
    ///
    /// - Throws: ``PresenceError``, or `CancellationError`.
    func response(
        to request: Request, token: String? = nil, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> HTTPResponse {
        do {
            return try await http.send(request, token: token, progress: progress)
        } catch let failure as HTTPServer.Failure {
            throw PresenceError.account(failure)
        }
    }

    /// Sends a request and returns the body of the response.
    func send(
        _ request: Request, token: String? = nil, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Data {
        try await response(to: request, token: token, progress: progress).body
    }

    func send<Answer: Decodable>(
        _ request: Request, token: String? = nil, progress: (@Sendable (Int) -> Void)? = nil, as type: Answer.Type
    ) async throws -> Answer {
        try Self.decode(type, from: await send(request, token: token, progress: progress), of: request)
    }

    static func decode<Answer: Decodable>(
        _ type: Answer.Type, from body: Data, of request: Request
    ) throws -> Answer {
        do {
            return try HTTPServer.decoder.decode(type, from: body)
        } catch {
            // Without the error's description, which may contain a token.
            throw PresenceError.account(.notAnAnswer, "to \(request.method) \(request.path)", outcomeUnknown: true)
        }
    }
}

extension HTTPServer.Request {
    init(_ method: String, _ path: String, _ members: [String: JSONValue], isRepeatable: Bool = false) {
        self.init(method, path, json: members, isRepeatable: isRepeatable)
    }
}

extension PresenceError {
    fileprivate static func account(_ failure: HTTPServer.Failure) -> PresenceError {
        switch failure {
        case .unanswered(let failure):
            account(
                failure.wasSent ? .connectionLost : .notConnected, failure.message, outcomeUnknown: failure.wasSent)
        case .refused(let refusal):
            account(
                refusal.code.map(Code.init(rawValue:)) ?? (refusal.isPassing ? .unavailable : .notAnAnswer),
                refusal.message, reason: refusal.reason.map(Reason.init(rawValue:)), field: refusal.field,
                retryAfter: refusal.retryAfter, until: refusal.until, outcomeUnknown: refusal.outcomeUnknown)
        }
    }

    /// Whether the server itself rejected the token. Nothing else signs a user out.
    var isRefusal: Bool { code == .unauthorized && reason != .invalidCredentials }
}
