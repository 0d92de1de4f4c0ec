import Foundation

/// Sends HTTP requests. The default is ``URLSessionHTTPTransport``; apps and tests can supply another.
package protocol HTTPTransport: Sendable {
    /// Sends a request and returns its response, with any status. Redirects are not followed.
    ///
    /// - Parameter progress: called with the number of bytes sent so far, from any thread.
    /// - Throws: ``HTTPFailure``, or `CancellationError` when the task is cancelled.
    func send(
        _ request: HTTPRequest, progress: (@Sendable (_ sentBytes: Int) -> Void)?
    ) async throws -> HTTPResponse
}

/// An HTTP request.
package struct HTTPRequest: Sendable {
    /// The method in capitals, such as `POST`.
    package var method: String
    /// The URL with its query.
    package var url: URL
    /// The headers by name; the transport adds those that HTTP itself requires.
    package var headers: [String: String]
    /// The body; `nil` for a request without a body, or with a ``bodyFile``.
    package var body: Data?
    /// A file to send as body. It must exist until there is a response, because it may be read in pieces.
    package var bodyFile: URL?
    /// The idle timeout.
    package var timeout: Duration
    /// The file for the body of a response with 2xx, which is then not in the response.
    package var download: Download?

    /// A file that is written while the response arrives.
    package struct Download: Sendable {
        /// An existing empty file.
        package var file: URL
        /// Called with the number of bytes written so far, and of all if it is known.
        package var progress: @Sendable (_ bytes: Int, _ all: Int?) -> Void

        package init(to file: URL, progress: @escaping @Sendable (_ bytes: Int, _ all: Int?) -> Void) {
            (self.file, self.progress) = (file, progress)
        }
    }

    /// Creates a request.
    package init(
        method: String, url: URL, headers: [String: String] = [:], body: Data? = nil, bodyFile: URL? = nil,
        timeout: Duration = .seconds(15), download: Download? = nil
    ) {
        (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
        (self.bodyFile, self.timeout, self.download) = (bodyFile, timeout, download)
    }
}

/// An HTTP response, with any status.
package struct HTTPResponse: Sendable {
    /// The status code, such as 200.
    package var status: Int
    /// The headers, with names in lower case.
    package var headers: [String: String]
    /// The body; empty if there is none.
    package var body: Data

    /// Creates a response, for fakes.
    package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// Why there is no response.
package struct HTTPFailure: Error, Hashable, Sendable {
    /// The reason, for developers.
    package var message: String
    /// Whether the request may have reached the server.
    package var wasSent: Bool
    /// Whether the server was silent until the timeout, so that a repetition would most likely wait as long.
    package var isTimeout: Bool
    /// Whether the file of a download cannot be written.
    package var isOfFile = false

    /// Creates a failure with a reason and whether the request may have reached the server.
    package init(_ message: String, wasSent: Bool, isTimeout: Bool = false) {
        (self.message, self.wasSent, self.isTimeout) = (message, wasSent, isTimeout)
    }
}

/// Texts for users, in plain language.
extension HTTPFailure: LocalizedError {
    package var errorDescription: String? { Sentence.networkError.text() }

    package var recoverySuggestion: String? {
        wasSent ? Sentence.mayHaveWorked.text() : nil
    }
}
