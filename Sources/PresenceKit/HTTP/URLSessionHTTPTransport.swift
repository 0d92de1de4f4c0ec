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
        let download = try request.download.map { (file) throws(HTTPFailure) in try OpenDownload(file) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.begin(
                    task.taskIdentifier,
                    Exchange(answer: continuation, progress: progress, download: download))
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
    let download: OpenDownload?
    var body = Data()
    var written = 0
    /// Why the transfer was given up.
    var failure: HTTPFailure?
}

extension HTTPFailure {
    fileprivate static var unwritable: HTTPFailure {
        var failure = HTTPFailure("the file cannot be written", wasSent: false)
        failure.isOfFile = true
        return failure
    }
}

/// A file that is being written.
private struct OpenDownload: Sendable {
    let handle: FileHandle
    let progress: @Sendable (Int, Int?) -> Void

    init(_ download: HTTPRequest.Download) throws(HTTPFailure) {
        guard let handle = try? FileHandle(forWritingTo: download.file) else {
            throw .unwritable
        }
        (self.handle, progress) = (handle, download.progress)
    }
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
        let response = dataTask.response as? HTTPURLResponse
        let isSuccess = response.map { (200..<300).contains($0.statusCode) } ?? false
        let all = response.map(\.expectedContentLength).flatMap { $0 > 0 ? Int($0) : nil }
        let (failed, report) = lock.withLock { () -> (Bool, (@Sendable () -> Void)?) in
            let number = dataTask.taskIdentifier
            guard var exchange = exchanges[number], exchange.failure == nil else { return (false, nil) }
            defer { exchanges[number] = exchange }
            guard isSuccess, let download = exchange.download else {
                guard exchange.body.count + data.count <= URLSessionHTTPTransport.longestAnswer else {
                    exchange.failure = HTTPFailure("the answer is too long", wasSent: true)
                    return (true, nil)
                }
                exchange.body.append(data)
                return (false, nil)
            }
            do {
                try download.handle.write(contentsOf: data)
            } catch {
                exchange.failure = .unwritable
                return (true, nil)
            }
            exchange.written += data.count
            return (false, { [written = exchange.written] in download.progress(written, all) })
        }
        report?()
        if failed { dataTask.cancel() }
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
        try? exchange.download?.handle.close()
        if let failure = exchange.failure { return exchange.answer.resume(throwing: failure) }
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
