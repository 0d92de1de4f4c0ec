import Foundation

/// The HTTP requests of a presence server. It knows URLs and errors, but no sessions.
package struct HTTPServer: Sendable {
    /// Without a path of the API.
    package let url: URL
    package let transport: any HTTPTransport
    /// The idle timeout of requests without one of their own.
    package let timeout: Duration

    package init(url: URL, transport: any HTTPTransport, timeout: Duration) {
        (self.url, self.transport, self.timeout) = (url, transport, timeout)
    }

    /// A request without the server's URL.
    package struct Request: Sendable {
        package var method: String
        /// The path below the server's URL, such as `v1/me`, with its query; every part is percent-encoded.
        package var path: String
        package var body: Data?
        package var bodyFile: URL?
        /// The file for the body of a response with 2xx.
        package var download: HTTPRequest.Download?
        package var contentType = "application/json"
        package var timeout: Duration?
        /// Whether the request can safely be repeated if its response was lost.
        package var isRepeatable = false

        package init(_ method: String, _ path: String, isRepeatable: Bool = false) {
            (self.method, self.path, self.isRepeatable) = (method, path, isRepeatable)
        }
    }

    /// Why a request failed.
    package enum Failure: Error {
        /// There is no response.
        case unanswered(HTTPFailure)
        /// The response is an error.
        case refused(HTTPRefusal)
    }

    /// Sends a request and returns its response, which has a status of 2xx.
    ///
    /// - Throws: ``Failure``, or `CancellationError`.
    package func send(
        _ request: Request, token: String? = nil, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> HTTPResponse {
        do {
            return try await sendOnce(request, token, progress)
        } catch Failure.unanswered(let failure)
            where failure.wasSent && !failure.isTimeout && request.isRepeatable
        {
            // The server may have closed the kept-alive connection in the meantime.
            try Task.checkCancellation()
            return try await sendOnce(request, token, progress)
        }
    }

    private func sendOnce(
        _ request: Request, _ token: String?, _ progress: (@Sendable (Int) -> Void)?
    ) async throws -> HTTPResponse {
        var headers = ["Accept": "application/json"]
        if request.body != nil || request.bodyFile != nil { headers["Content-Type"] = request.contentType }
        if let token { headers["Authorization"] = "Bearer \(token)" }
        let response: HTTPResponse
        do {
            response = try await transport.send(
                HTTPRequest(
                    method: request.method, url: address(of: request), headers: headers, body: request.body,
                    bodyFile: request.bodyFile, timeout: request.timeout ?? timeout, download: request.download),
                progress: progress)
        } catch let failure as HTTPFailure {
            throw Failure.unanswered(failure)
        } catch let error where !(error is CancellationError) {
            throw Failure.unanswered(HTTPFailure("the transport threw \(type(of: error))", wasSent: true))
        }
        guard (200..<300).contains(response.status) else { throw Failure.refused(HTTPRefusal(response)) }
        return response
    }

    private func address(of request: Request) -> URL {
        let base = url.absoluteString
        return URL(string: base.hasSuffix("/") ? base + request.path : "\(base)/\(request.path)")!
    }

    /// The HTTP URL of the server with this WebSocket URL.
    package static func url(of webSocket: URL) -> URL {
        var parts = URLComponents(url: webSocket, resolvingAgainstBaseURL: true) ?? URLComponents()
        parts.scheme = webSocket.scheme?.lowercased() == "ws" ? "http" : "https"
        parts.query = nil
        parts.fragment = nil
        if parts.percentEncodedPath.hasSuffix("/v1/ws") { parts.percentEncodedPath.removeLast("/v1/ws".count) }
        return parts.url ?? webSocket
    }

    /// Percent-encodes a part of a path or query.
    package static func escaped(_ part: String) -> String {
        let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~.")
        let text = part.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
        // Dots alone would be resolved as parts of the path.
        return text.allSatisfy { $0 == "." } ? text.replacingOccurrences(of: ".", with: "%2E") : text
    }
}
