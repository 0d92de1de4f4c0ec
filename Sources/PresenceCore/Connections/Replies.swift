import PresenceProtocol
import WebSockets

/// Replies in the order of the requests, and everything else that is sent to one connection only.
///
/// A request that waits for Redis keeps its place; later replies wait behind it. `emit` runs when the reply's turn
/// comes, so that a snapshot is taken at the moment from which its events follow. It runs exactly once, also when the
/// connection has closed meanwhile, since the callback may have something to release.
package final class Replies {
    private let watchers: Watchers
    private let sockets: any Sockets
    private let limits: ServerConfiguration.Limits
    private let metrics: Metrics
    private let outboxes: Outboxes

    init(
        watchers: Watchers, sockets: any Sockets, limits: ServerConfiguration.Limits, metrics: Metrics,
        outboxes: Outboxes
    ) {
        self.watchers = watchers
        self.sockets = sockets
        self.limits = limits
        self.metrics = metrics
        self.outboxes = outboxes
    }

    /// Takes the next place in the connection's replies.
    ///
    /// - Parameter hurry: For a request that waits to be carried out together with others: carries it out now. `hurry`
    ///   is called when a request without `hurry` takes its place behind this one, when a request has to wait for this
    ///   one (`RequestLane`), and when the connection closes.
    package func expect(on connection: Connection, hurry: (() -> Void)? = nil) -> Connection.Reply {
        let reply = Connection.Reply()
        if let hurry {
            reply.hurry = hurry
        } else {
            self.hurry(connection)
        }
        connection.replies.append(reply)
        adjustReading(of: connection)
        return reply
    }

    /// Replies with `hurry` are the last ones, apart from some whose content is known and which wait for their turn.
    func hurry(_ connection: Connection) {
        for reply in connection.replies.reversed() {
            guard let hurry = reply.hurry else {
                if reply.emit == nil { return }
                continue
            }
            reply.hurry = nil
            hurry()
        }
    }

    package func fulfil(_ reply: Connection.Reply, on connection: Connection, emit: @escaping () -> Void) {
        reply.hurry = nil
        guard !connection.isClosed else {
            emit()
            answered(reply, bytes: nil)
            return decided(reply)
        }
        reply.emit = emit
        while let first = connection.replies.first, let emit = first.emit {
            connection.replies.removeFirst()
            let before = connection.outbox.count
            emit()
            answered(first, bytes: connection.outbox.count - before)
        }
        adjustReading(of: connection)
        decided(reply)
    }

    private func decided(_ reply: Connection.Reply) {
        guard let decided = reply.decided else { return }
        reply.decided = nil
        decided()
    }

    /// Replies as soon as it is its turn, without waiting for anything else.
    package func now(on connection: Connection, emit: @escaping () -> Void) {
        if connection.replies.isEmpty { return emit() }
        fulfil(expect(on: connection), on: connection, emit: emit)
    }

    private func answered(_ reply: Connection.Reply, bytes: Int?) {
        guard let answered = reply.answered else { return }
        reply.answered = nil
        answered(bytes)
    }

    /// The connection is closed: runs the ready callbacks, which check whether it is. A request that waits for Redis
    /// keeps its turn among its user's (`LongAnswers`) until Redis has replied.
    func abandon(_ connection: Connection) {
        let replies = connection.replies
        connection.replies.removeAll()
        let ready = replies.filter { $0.emit != nil }
        ready.forEach { $0.emit?() }
        replies.forEach { $0.hurry?() }
        ready.forEach { answered($0, bytes: nil) }
    }

    // MARK: Sending

    /// Adds a message to those sent at the end of the turn.
    package func send(_ payload: [UInt8], to connection: Connection) {
        guard !connection.isClosed else { return }
        let before = connection.outbox.count
        WebSocketFrame.append(text: payload, to: &connection.outbox)
        outboxes.change(by: connection.outbox.count - before)
        watchers.markMail(connection)
        if connection.congestedSince != nil { adjustReading(of: connection) }
    }

    package func ok(_ id: Int64?, to connection: Connection) {
        guard let id else { return }
        var payload: [UInt8] = []
        ServerMessageWriter.ok(id: id, to: &payload)
        send(payload, to: connection)
    }

    package func error(_ error: ServerMessage.ErrorMessage, to connection: Connection) {
        metrics.errors[error.code, default: 0] += 1
        var payload: [UInt8] = []
        ServerMessageWriter.error(error, to: &payload)
        send(payload, to: connection)
    }

    // MARK: Bounds

    /// Stops reading from a client that sends requests faster than they are answered, or does not read its replies.
    func adjustReading(of connection: Connection) {
        guard !connection.isClosed else { return }
        let full =
            connection.replies.count + connection.held.count >= limits.pendingRequests
            || connection.heldBytes > limits.maxMessageBytes
            || (connection.congestedSince != nil && connection.outbox.count > 2 * limits.maxServerMessageBytes)
        if full, !connection.isReadingPaused {
            connection.isReadingPaused = true
            sockets.pauseReading(connection.socket)
        } else if !full, connection.isReadingPaused {
            connection.isReadingPaused = false
            sockets.resumeReading(connection.socket)
        }
    }
}
