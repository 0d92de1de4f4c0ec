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

/// A request over HTTP.
public struct HTTPRequest: Sendable {
    /// Such as `POST`, in capitals.
    public var method: String
    /// Where it goes, with its query.
    public var url: URL
    /// By name; the transport adds those that HTTP itself needs.
    public var headers: [String: String]
    /// What is sent; `nil` for a request without a body, and for one whose body is a ``bodyFile``.
    public var body: Data?
    /// The file that is sent; it has to stay until there is an answer, since it may be read piece by piece meanwhile.
    public var bodyFile: URL?
    /// How long nothing may happen.
    public var timeout: Duration

    /// Makes a request.
    public init(
        method: String, url: URL, headers: [String: String] = [:], body: Data? = nil, bodyFile: URL? = nil,
        timeout: Duration = .seconds(15)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.bodyFile = bodyFile
        self.timeout = timeout
    }
}

/// An answer over HTTP, whatever its status.
public struct HTTPResponse: Sendable {
    /// The status code, such as 200.
    public var status: Int
    /// The names in lower case.
    public var headers: [String: String]
    /// What was answered; empty without a body.
    public var body: Data

    /// Makes an answer, as a fake needs it.
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

    /// Says what failed, and whether the server may have got the request.
    public init(_ message: String, wasSent: Bool) {
        self.message = message
        self.wasSent = wasSent
    }
}

/// What people are shown: plain language.
extension HTTPFailure: LocalizedError {
    public var errorDescription: String? { "Network error. Please check your connection." }

    public var recoverySuggestion: String? {
        wasSent ? "It may have worked all the same. Please check before you try again." : nil
    }
}
