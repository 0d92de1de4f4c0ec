import Foundation

// The client's own HTTP requests.
extension PresenceClient {
    /// The idle timeout of a request.
    static let httpTimeout = Duration.seconds(15)

    /// Sends a request as the signed-in user and returns the response.
    ///
    /// - Parameter user: the user whose request it is; by default the present one.
    /// - Throws: ``PresenceError``, or `CancellationError`. `notOffered` stands for every 404; `signedOut` if the user
    ///   signed out or was changed.
    package func send(_ request: HTTPServer.Request, of user: UserNumber? = nil) async throws -> HTTPResponse {
        let server = HTTPServer(
            url: HTTPServer.url(of: webSocketURL),
            transport: ClosableTransport(http ?? URLSessionHTTPTransport(), httpTasks), timeout: Self.httpTimeout)
        let present = await runner.inspect { $0.userNumber }
        let user = RequestUser(client: self, id: try await ownID(), number: user ?? present)
        return try await server.send(request, as: user, with: try await user.token()).response
    }

    /// The same with a decoded body.
    package func send<Answer: Decodable>(
        _ request: HTTPServer.Request, of user: UserNumber? = nil, as type: Answer.Type
    ) async throws -> Answer {
        let body = try await send(request, of: user).body
        do {
            return try HTTPServer.decoder.decode(type, from: body)
        } catch {
            throw PresenceError(.notAnAnswer, "to \(request.method) \(request.path.prefix { $0 != "?" })")
        }
    }
}

extension HTTPServer {
    package static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        return decoder
    }()
}

extension HTTPServer.Request {
    /// With a JSON body, which can be encoded.
    package init(_ method: String, _ path: String, json: some Encodable, isRepeatable: Bool = false) {
        self.init(method, path, isRepeatable: isRepeatable)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        body = try! encoder.encode(json)
    }
}
