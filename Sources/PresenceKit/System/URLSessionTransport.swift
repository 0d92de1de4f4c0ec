import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A WebSocket connection of URLSession.
///
/// The object exists until its connection ends: the session retains it as the delegate, and is invalidated at the end.
// @unchecked: all mutable state is confined to `queue`, on which the session also calls its delegate.
final class URLSessionTransport: NSObject, Transport, URLSessionWebSocketDelegate, @unchecked Sendable {
    /// Serial; it also orders the reported events.
    private let queue = OperationQueue()
    private var session: URLSession?
    private var task: URLSessionWebSocketTask?
    private var report: (@Sendable (TransportEvent) -> Void)?

    /// The longest accepted message. The server sends no message over 256 KiB.
    private static let maximumMessageSize = 1 << 20

    init(
        _ url: URL, subprotocol: String, configuration: URLSessionConfiguration,
        report: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.report = report
        super.init()
        queue.maxConcurrentOperationCount = 1
        // The session retains its delegate until the end invalidates it.
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
        let task = session.webSocketTask(with: url, protocols: [subprotocol])
        task.maximumMessageSize = Self.maximumMessageSize
        self.session = session
        self.task = task
        task.resume()
    }

    func send(_ text: [UInt8]) {
        queue.addOperation { [self] in
            // A failure to send ends the connection, which the delegate reports.
            task?.send(.string(String(decoding: text, as: UTF8.self))) { _ in }
        }
    }

    /// URLSession answers the server's pings without notifying its delegate. A ping of the client shows whether the
    /// server is alive.
    func ping() {
        queue.addOperation { [self] in
            task?.sendPing { [weak self] error in
                guard error == nil, let self else { return }
                self.queue.addOperation { self.report?(.alive) }
            }
        }
    }

    func close() {
        queue.addOperation { [self] in task?.cancel(with: .normalClosure, reason: nil) }
    }

    func abort() {
        queue.addOperation { [self] in end(.lost("aborted")) }
    }

    // MARK: On the queue

    private func receive() {
        task?.receive { [weak self] result in
            guard let self else { return }
            self.queue.addOperation { self.received(result) }
        }
    }

    private func received(_ result: Result<URLSessionWebSocketTask.Message, any Error>) {
        switch result {
        case .success(.string(let text)):
            report?(.received(Array(text.utf8)))
            receive()
        case .success: end(.violated("a binary message"))
        // The delegate reports the end too, in more detail; this is the fallback.
        case .failure(let error): queue.addOperation { [self] in end(ending(orElse: error)) }
        }
    }

    /// The ending of the task, with all known details.
    private func ending(orElse error: (any Error)?) -> TransportEnd {
        if let task, task.closeCode != .invalid {
            return .closed(code: UInt16(task.closeCode.rawValue), reason: Array(task.closeReason ?? Data()))
        }
        if let response = task?.response as? HTTPURLResponse, response.statusCode != 101 {
            return .refused(status: response.statusCode)
        }
        return .lost(error.map { String(describing: $0) } ?? "the connection broke")
    }

    private func end(_ end: TransportEnd) {
        guard let report else { return }
        self.report = nil
        task?.cancel()
        session?.invalidateAndCancel()
        session = nil
        task = nil
        report(.ended(end))
    }

    // MARK: URLSessionWebSocketDelegate, on the queue

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol subprotocol: String?
    ) {
        report?(.opened)
        receive()
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        // Apple's enum has no cases for codes such as 4001, but its raw values are the codes received.
        end(.closed(code: UInt16(clamping: closeCode.rawValue), reason: Array(reason ?? Data())))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(ending(orElse: error))
    }
}
