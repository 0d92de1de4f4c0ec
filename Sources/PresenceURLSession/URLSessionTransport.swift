import Foundation
import PresenceTransport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One WebSocket connection of URLSession.
///
/// It lives until its end: the session retains its delegate, and the end invalidates the session.
// @unchecked: everything that can change is confined to `queue`, on which the session calls its delegate, too.
final class URLSessionTransport: NSObject, Transport, URLSessionWebSocketDelegate, @unchecked Sendable {
    /// Serial; also what orders the events that are reported.
    private let queue = OperationQueue()
    private var session: URLSession?
    private var task: URLSessionWebSocketTask?
    private var report: (@Sendable (TransportEvent) -> Void)?

    /// The longest message taken: the server sends none over 256 KiB.
    private static let maximumMessageSize = 1 << 20

    init(
        _ url: URL, subprotocol: String, configuration: URLSessionConfiguration,
        report: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.report = report
        super.init()
        queue.maxConcurrentOperationCount = 1
        // The session retains its delegate until it is invalidated, which the end does.
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
        let task = session.webSocketTask(with: url, protocols: [subprotocol])
        task.maximumMessageSize = Self.maximumMessageSize
        self.session = session
        self.task = task
        task.resume()
    }

    func send(_ text: [UInt8]) {
        queue.addOperation { [self] in
            // A failure to send ends the connection, of which the delegate hears.
            task?.send(.string(String(decoding: text, as: UTF8.self))) { _ in }
        }
    }

    /// URLSession answers the server's pings without telling anybody: one of our own shows whether it is there.
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
        // The delegate hears of the end too, and more exactly; but if it does not, this is it.
        case .failure(let error): queue.addOperation { [self] in end(ending(orElse: error)) }
        }
    }

    /// How the task ended, as exactly as it tells.
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
        // 4001 and its like are no cases of Apple's enum, but its raw values are what was on the wire.
        end(.closed(code: UInt16(clamping: closeCode.rawValue), reason: Array(reason ?? Data())))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(ending(orElse: error))
    }
}
