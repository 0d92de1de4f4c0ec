import PresenceCore
import PresenceProtocol
import WebSockets

/// Sends a change of a user's settings of notifications to the user's sessions on this shard: the newest only. A client reads them when
/// it has connected, so nothing is sent then.
final class OwnNotificationSettings {
    private unowned let shard: ShardLogic
    private var message: OwnMessages = []
    /// Each user with a session here who has changed the settings since.
    private var changed: [UserID: (version: Int64, frame: [UInt8])] = [:]

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        message = registry.ownMessage { [unowned self] connection in
            connection.session.flatMap { changed[$0.user.id]?.frame } ?? []
        }
        registry.event("n", offers: true) { [unowned self] in handle($0) }
    }

    func ended(_ session: Session) {
        guard session.user.sessions.allSatisfy({ $0 === session }) else { return }
        changed[session.user.id] = nil
    }

    private func handle(_ event: StoreEvent) {
        guard let user = event.subject, let local = shard.sessions.users[user],
            event.version > changed[user]?.version ?? 0
        else { return }
        let text = String(decoding: event.rest, as: UTF8.self)
        let json =
            Array(#"{"type":"ownNotificationSettings","settings":"#.utf8)
            + NotificationSettings.object(stored: text, version: event.version) + [UInt8(ascii: "}")]
        changed[user] = (event.version, WebSocketFrame.text(json))
        for case let connection? in local.sessions.map(\.connection) where connection.isGreeted {
            connection.ownMessages.insert(message)
            shard.watchers.markMail(connection)
        }
    }
}
