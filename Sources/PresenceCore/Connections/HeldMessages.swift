/// Messages that wait. While a connection's token is being verified, or its session is not admitted yet, its messages
/// are held: the token may have been revoked, or the user may have too many connections. So nothing is done for a
/// client that is not admitted. Once it is, they are handled in order, as if they had just arrived. A request that
/// waits for earlier ones (`RequestLane`) is held too, and so are those behind it, or behind one that waits for another
/// request of its user (`LongAnswers`).
///
/// A client can send ahead as many messages as a connection may have pending (`limits.pendingRequests`), or one message
/// of the largest size; beyond that the server stops reading from it (`Replies.adjustReading`). All of them count
/// towards `limits.inboxBytes`.
extension ShardLogic {
    /// Whether messages of the connection have to wait. While Redis is unreachable nothing can be decided: the session
    /// is admitted provisionally, reads are answered from memory, and writes are rejected.
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

    /// The token was verified, the session was admitted, or Redis is unreachable: handles the held messages, until one
    /// of them (a `refresh`) makes the rest wait again.
    func handleHeld(of connection: Connection) {
        guard !connection.held.isEmpty else { return }
        while !connection.held.isEmpty, !connection.isClosed, !mustWait(connection) {
            let message = connection.held.removeFirst()
            guard message.withUnsafeBytes({ handle($0, on: connection) }) else {
                connection.held.insert(message, at: 0)
                break
            }
            // Closing the connection has released its held messages.
            if !connection.isClosed { release(message.count, of: connection) }
        }
        replies.adjustReading(of: connection)
    }

    /// Reserves memory for bytes of the connection; false if there is none.
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
