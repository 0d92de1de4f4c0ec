import Foundation
import PresenceKit

/// The account requests of a presence server, one by one: it knows their addresses and errors, and nothing of who is
/// signed in.
struct AccountServer: Sendable {
    let url: URL
    let transport: any HTTPTransport
    let timeout: Duration

    /// A request as this library has it, before it has an address.
    struct Request: Sendable {
        var method: String
        /// Behind the server's address, such as `v1/me`; every part is percent-encoded.
        var path: String
        var body: Data?
        var contentType = "application/json"
        var timeout: Duration?
        /// Whether it does no harm to send it again when its answer was lost.
        var isRepeatable = false

        init(_ method: String, _ path: String, isRepeatable: Bool = false) {
            self.method = method
            self.path = path
            self.isRepeatable = isRepeatable
        }

        init(
            _ method: String, _ path: String, _ members: [String: JSONMember], isRepeatable: Bool = false
        ) {
            self.init(method, path, isRepeatable: isRepeatable)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Strings, numbers and nulls can always be encoded.
            body = try! encoder.encode(members)
        }
    }

    /// Sends a request, and gives back the body of its answer.
    ///
    /// - Throws: ``AccountError``, or `CancellationError`.
    func send(
        _ request: Request, token: String? = nil, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Data {
        do {
            return try await sendOnce(request, token, progress)
        } catch let error as AccountError where error.code == .connectionLost && request.isRepeatable {
            // A connection that was kept for the next request may have been closed by the server meanwhile.
            try Task.checkCancellation()
            return try await sendOnce(request, token, progress)
        }
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
            return try decoder.decode(type, from: body)
        } catch {
            // Without the error's own words: they may have a token in them.
            throw AccountError(.notAnAnswer, "to \(request.method) \(request.path)", outcomeUnknown: true)
        }
    }

    private func sendOnce(
        _ request: Request, _ token: String?, _ progress: (@Sendable (Int) -> Void)?
    ) async throws -> Data {
        var headers = ["Accept": "application/json"]
        if request.body != nil { headers["Content-Type"] = request.contentType }
        if let token { headers["Authorization"] = "Bearer \(token)" }
        let response: HTTPResponse
        do {
            response = try await transport.send(
                HTTPRequest(
                    method: request.method, url: address(of: request), headers: headers, body: request.body,
                    timeout: request.timeout ?? timeout), progress: progress)
        } catch let failure as HTTPFailure {
            throw AccountError(
                failure.wasSent ? .connectionLost : .notConnected, failure.message, outcomeUnknown: failure.wasSent)
        } catch let error where !(error is CancellationError) {
            throw AccountError(.connectionLost, "the transport threw \(type(of: error))", outcomeUnknown: true)
        }
        guard (200..<300).contains(response.status) else { throw AccountError(response) }
        return response.body
    }

    private func address(of request: Request) -> URL {
        let base = url.absoluteString
        return URL(string: base.hasSuffix("/") ? base + request.path : "\(base)/\(request.path)")!
    }

    /// A part of a path.
    static func escaped(_ part: String) -> String {
        let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~.")
        let text = part.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
        // Parts that would not stay in an address.
        return text.allSatisfy { $0 == "." } ? text.replacingOccurrences(of: ".", with: "%2E") : text
    }

    static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        return decoder
    }()
}

/// A member of a request's body.
enum JSONMember: Encodable, Hashable, Sendable {
    case text(String)
    case flag(Bool)
    case null
    case object([String: JSONMember])

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .flag(let flag): try container.encode(flag)
        case .null: try container.encodeNil()
        case .object(let members): try container.encode(members)
        }
    }
}

extension AccountError {
    /// What the protocol's error object says; without one the answer is of something that stands before the server.
    init(_ response: HTTPResponse) {
        struct Message: Decodable {
            var type: String
            var code: String
            var reason: String?
            var field: String?
            var message: String?
            var retryAfter: Double?
            var outcomeUnknown: Bool?
        }
        guard let error = try? AccountServer.decoder.decode(Message.self, from: response.body), error.type == "error"
        else {
            let isPassing = response.status == 429 || response.status == 503
            // A proxy's word: any number may stand there.
            let seconds = response.headers["retry-after"].flatMap(Int.init).map {
                Duration.seconds(min(max($0, 0), 1 << 30))
            }
            self.init(
                isPassing ? .unavailable : .notAnAnswer, "HTTP status \(response.status)", retryAfter: seconds,
                outcomeUnknown: response.status >= 500 && !isPassing)
            return
        }
        self.init(
            Code(rawValue: error.code), error.message ?? "", reason: error.reason.map(Reason.init(rawValue:)),
            field: error.field, retryAfter: error.retryAfter.map { .milliseconds(min(max($0, 0), 1e12)) },
            outcomeUnknown: error.outcomeUnknown ?? false)
    }

    /// Whether it is the server's word that a token is no longer good: nothing else signs anybody out.
    var isRefusal: Bool { code == .unauthorized && reason != .invalidCredentials }
}
