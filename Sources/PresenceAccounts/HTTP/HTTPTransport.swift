import Foundation

/// Sends HTTP requests: URLSession (``URLSessionHTTPTransport``), or what an app or a test puts in its place.
public protocol HTTPTransport: Sendable {
    /// Sends a request and gives back its answer, whatever its status. Redirects are not followed.
    ///
    /// - Parameter progress: told how many bytes of the body are sent, from any thread.
    /// - Throws: ``HTTPFailure``, or `CancellationError` when the task is cancelled.
    func send(
        _ request: HTTPRequest, progress: (@Sendable (_ sentBytes: Int) -> Void)?
    ) async throws -> HTTPResponse
}

public struct HTTPRequest: Sendable {
    public var method: String
    public var url: URL
    public var headers: [String: String]
    public var body: Data?
    /// How long nothing may happen.
    public var timeout: Duration

    public init(
        method: String, url: URL, headers: [String: String] = [:], body: Data? = nil, timeout: Duration = .seconds(15)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }
}

public struct HTTPResponse: Sendable {
    public var status: Int
    /// The names in lower case.
    public var headers: [String: String]
    public var body: Data

    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Why there is no answer.
public struct HTTPFailure: Error, Hashable, Sendable {
    /// For developers.
    public var message: String
    /// Whether the request may have reached the server.
    public var wasSent: Bool

    public init(_ message: String, wasSent: Bool) {
        self.message = message
        self.wasSent = wasSent
    }
}
