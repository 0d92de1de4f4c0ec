import PresenceProtocol
import WebSockets

/// Informs clients when their data may be stale, and when it is live again.
extension ShardLogic {
    func announceStaleness(since: Timestamp) {
        var payload: [UInt8] = []
        ServerMessageWriter.stale(since: since, to: &payload)
        socketWriter.staleMessage = WebSocketFrame.text(payload)
        announce(.stale)
    }

    func announceLive() { announce(.live) }

    private func announce(_ staleness: Connection.Staleness) {
        // Other clients are informed by or after `connected`.
        for case let connection? in watchers.connections where connection.isGreeted {
            connection.staleness = staleness
            watchers.markMail(connection)
        }
    }
}
