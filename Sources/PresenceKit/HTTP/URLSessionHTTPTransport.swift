import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests with URLSession, without cookies, caches and redirects. On Linux a file is read into memory before it
/// is sent; elsewhere it is read in pieces.
package final class URLSessionHTTPTransport: HTTPTransport {
    /// The longest response, in bytes; the server's are far shorter.
    static let longestAnswer = 1 << 20

    private let session: URLSession
    private let exchanges: Exchanges

    /// - Parameter configuration: proxies and similar settings; cookies and caches are disabled in any case.
    package init(_ configuration: URLSessionConfiguration = .ephemeral) {
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        exchanges = Exchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: queue)
    }

    /// Finishes the requests in flight; after that the session releases its delegate.
    deinit { session.finishTasksAndInvalidate() }

    package func send(
        _ request: HTTPRequest, progress: (@Sendable (_ sentBytes: Int) -> Void)?
    ) async throws -> HTTPResponse {
        try Task.checkCancellation()
        var wire = URLRequest(url: request.url)
        wire.httpMethod = request.method
        wire.httpBody = request.body
        wire.timeoutInterval = request.timeout / .seconds(1)
        for (name, value) in request.headers { wire.setValue(value, forHTTPHeaderField: name) }
        let task = try task(&wire, request.bodyFile)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.begin(task.taskIdentifier, Exchange(answer: continuation, progress: progress))
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func task(_ request: inout URLRequest, _ file: URL?) throws(HTTPFailure) -> URLSessionTask {
        guard let file else { return session.dataTask(with: request) }
        #if canImport(FoundationNetworking)
            // On Linux, swift-corelibs-foundation reads the file during the transfer, and crashes if a piece arrives
            // after the transfer was cancelled, rejected or lost (`_BodyFileSource`). A body in memory avoids that.
            guard let bytes = try? Data(contentsOf: file) else {
                throw HTTPFailure("the file cannot be read", wasSent: false)
            }
            request.httpBody = bytes
            return session.dataTask(with: request)
        #else
            guard FileManager.default.isReadableFile(atPath: file.path) else {
                throw HTTPFailure("the file cannot be read", wasSent: false)
            }
            return session.uploadTask(with: request, fromFile: file)
        #endif
    }
}

/// A request in flight.
private struct Exchange {
    let answer: CheckedContinuation<HTTPResponse, any Error>
    let progress: (@Sendable (Int) -> Void)?
    var body = Data()
    var isTooLong = false
}

// @unchecked: `exchanges` and `ended` are only touched with the lock.
/// The requests in flight, by task identifier.
private final class Exchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]
    /// Tasks that were cancelled before they began.
    private var ended: Set<Int> = []

    func begin(_ number: Int, _ exchange: Exchange) {
        let hasEnded = lock.withLock {
            if ended.remove(number) != nil { return true }
            exchanges[number] = exchange
            return false
        }
        if hasEnded { exchange.answer.resume(throwing: CancellationError()) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = lock.withLock {
            let number = dataTask.taskIdentifier
            let count = (exchanges[number]?.body.count ?? 0) + data.count
            guard count <= URLSessionHTTPTransport.longestAnswer else {
                exchanges[number]?.isTooLong = true
                return true
            }
            exchanges[number]?.body.append(data)
            return false
        }
        if isTooLong { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        lock.withLock { exchanges[task.taskIdentifier]?.progress }?(Int(totalBytesSent))
    }

    /// Rejects redirects, because another host must not get the user's token.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = end(task.taskIdentifier) else { return }
        if exchange.isTooLong {
            return exchange.answer.resume(throwing: HTTPFailure("the answer is too long", wasSent: true))
        }
        if let error { return exchange.answer.resume(throwing: Self.failure(error)) }
        guard let response = task.response as? HTTPURLResponse else {
            return exchange.answer.resume(throwing: HTTPFailure("no answer", wasSent: true))
        }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
        exchange.answer.resume(
            returning: HTTPResponse(status: response.statusCode, headers: headers, body: exchange.body))
    }

    /// Removes and returns the request of a finished task; `nil` if it has not begun.
    private func end(_ number: Int) -> Exchange? {
        lock.withLock {
            let exchange = exchanges.removeValue(forKey: number)
            if exchange == nil { ended.insert(number) }
            return exchange
        }
    }

    private static func failure(_ error: any Error) -> any Error {
        guard let error = error as? URLError else { return HTTPFailure("\(error)", wasSent: true) }
        let wasSent: Bool
        switch error.code {
        case .cancelled: return CancellationError()
        case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .badURL,
            .unsupportedURL, .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .dataNotAllowed,
            .internationalRoamingOff, .callIsActive:
            wasSent = false
        default: wasSent = true
        }
        // The error's description would contain the URL, so only the code is used.
        return HTTPFailure(
            "URLError \(error.code.rawValue)", wasSent: wasSent, isTimeout: error.code == .timedOut)
    }
}
