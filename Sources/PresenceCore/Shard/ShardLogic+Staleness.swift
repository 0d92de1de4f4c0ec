import PresenceProtocol
import WebSockets

/// Clients are told when what they show may be stale, and when it is the truth again.
extension ShardLogic {
    func announceStaleness(since: Timestamp) {
        var payload: [UInt8] = []
        ServerMessageWriter.stale(since: since, to: &payload)
        delivery.staleMessage = WebSocketFrame.text(payload)
        announce(.stale)
    }

    func announceLive() { announce(.live) }

    private func announce(_ staleness: Connection.Staleness) {
        // Clients not greeted yet are told with `connected`.
        for case let connection? in watchers.connections where connection.isGreeted {
            connection.staleness = staleness
            watchers.markMail(connection)
        }
    }
}
