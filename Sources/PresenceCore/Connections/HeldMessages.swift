/// Messages of a connection whose token is being verified, or whose session Redis has not let in yet: the token may have been
/// revoked, or its user have too many connections. They wait, so that nothing acts or answers for a client that turns out not
/// to be let in; when it is, they are handled in their order, as if they had come then. So are a request that waits for those
/// before it (`RequestLane`), and what comes behind it or behind one that waits for another of its user (`LongAnswers`).
///
/// A client can send as much ahead as one connection may have pending (`limits.pendingRequests`), or one message of the
/// largest size; beyond that it is not read from (`Replies.adjustReading`). All of them count in
/// `limits.inboxBytes`.
extension ShardLogic {
    /// Whether what comes on the connection has to wait. While Redis is out of reach nothing can be decided: the session is
    /// let in for the time being, reads are answered from what is held, and writes are refused.
    func mustWait(_ connection: Connection) -> Bool {
        if connection.isVerifying || connection.isInLine || connection.lane.isWaiting { return true }
        guard let session = connection.session, !session.isAdmitted else { return false }
        return link.isLive || !connection.isGreeted
    }

    package func hold(_ message: UnsafeRawBufferPointer, of connection: Connection) {
        guard reserve(message.count, of: connection) else {
            return close(connection, .tryAgainLater, reason: reconnectAdvice())
        }
        connection.held.append(Array(message))
        replies.adjustReading(of: connection)
    }

    /// The token was verified, the session was let in, or Redis is out of reach: what waited is handled, up to a message
    /// (a `refresh`) for which the others have to wait again.
    func handleHeld(of connection: Connection) {
        guard !connection.held.isEmpty else { return }
        while !connection.held.isEmpty, !connection.isClosed, !mustWait(connection) {
            let message = connection.held.removeFirst()
            guard message.withUnsafeBytes({ handle($0, on: connection) }) else {
                connection.held.insert(message, at: 0)
                break
            }
            // What was held of a connection that is closed now has been let go of with it.
            if !connection.isClosed { release(message.count, of: connection) }
        }
        replies.adjustReading(of: connection)
    }

    /// Room for so many bytes more that are kept for the connection; false if there is none.
    func reserve(_ bytes: Int, of connection: Connection) -> Bool {
        guard sockets.reserveInbox(bytes, of: connection.address) else { return false }
        connection.heldBytes += bytes
        return true
    }

    func release(_ bytes: Int, of connection: Connection) {
        sockets.releaseInbox(bytes, of: connection.address)
        connection.heldBytes -= bytes
    }

    func handleAllHeld() {
        for case let connection? in watchers.connections { handleHeld(of: connection) }
    }

    func dropHeld(of connection: Connection) {
        sockets.releaseInbox(connection.heldBytes, of: connection.address)
        connection.held = []
        connection.heldBytes = 0
    }
}
