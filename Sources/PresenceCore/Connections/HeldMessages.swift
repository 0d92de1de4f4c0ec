/// Messages of a connection whose session Redis has not let in yet: its token may have been revoked, or its user have too
/// many connections. They wait, so that nothing acts or answers for a client that turns out not to be let in; when it is,
/// they are handled in their order, as if they had come then.
///
/// A client can send as much ahead as one connection may have pending (`limits.pendingRequests`), or one message of the
/// largest size; beyond that it is not read from (`Replies.adjustReading`). All of them count in
/// `limits.inboxBytes`.
extension ShardLogic {
    /// Whether what comes on the connection has to wait. While Redis is out of reach nothing can be decided: the session is
    /// let in for the time being, reads are answered from what is held, and writes are refused.
    func mustWait(_ connection: Connection) -> Bool {
        guard let session = connection.session, !session.isAdmitted else { return false }
        return link.isLive || !connection.isGreeted
    }

    package func hold(_ message: UnsafeRawBufferPointer, of connection: Connection) {
        guard sockets.reserveInbox(message.count) else {
            return close(connection, .tryAgainLater, reason: reconnectAdvice())
        }
        connection.held.append(Array(message))
        connection.heldBytes += message.count
        replies.adjustReading(of: connection)
    }

    /// The session was let in, or Redis is out of reach: what waited is handled.
    func handleHeld(of connection: Connection) {
        guard !connection.held.isEmpty, !connection.isClosed, !mustWait(connection) else { return }
        let messages = connection.held
        dropHeld(of: connection)
        for message in messages {
            guard !connection.isClosed else { return }
            message.withUnsafeBytes { handle($0, on: connection) }
        }
        replies.adjustReading(of: connection)
    }

    func handleAllHeld() {
        for case let connection? in watchers.connections { handleHeld(of: connection) }
    }

    func dropHeld(of connection: Connection) {
        sockets.releaseInbox(connection.heldBytes)
        connection.held = []
        connection.heldBytes = 0
    }
}
