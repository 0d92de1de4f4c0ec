import PresenceCore
import PresenceProtocol

/// The members of a watched conversation, as this shard knows them. Only they receive its events. When a user is
/// removed, the watch of each of their connections rests; it continues if the user is added again.
final class ConversationMembers {
    private(set) var users: Set<UserID> = []
    private var events = 0

    /// Takes the members from an event.
    func replace(with users: Set<UserID>) {
        events += 1
        self.users = users
    }

    /// Takes the members from an event that may be older than the last read, so this only removes users. Users who were
    /// added again since then are read.
    func restrict(to users: Set<UserID>) {
        events += 1
        self.users.formIntersection(users)
    }

    /// Reads the members from Redis, together with data that only members may see. Reads again if an event has arrived
    /// meanwhile: event or reply may be the newer one, and the reply may contain data from after the event.
    func asking(_ ask: @escaping (@escaping StoreReply) -> Void, reply: @escaping StoreReply) {
        let asked = events
        ask { [self] result in
            guard events != asked, case .success = result else { return reply(result) }
            asking(ask, reply: reply)
        }
    }

    /// Takes the members from a read by `asking`.
    func answered(_ users: Set<UserID>) { self.users = users }

    /// Restricts a topic of the conversation to the members.
    ///
    /// - Parameter leaving: called with each connection whose watch is about to rest.
    /// - Returns: the connections whose watch rests from now on.
    @discardableResult
    func apply(to topic: Topic, in watchers: Watchers, leaving: (Connection) -> Void = { _ in }) -> [Connection] {
        let left = topic.watchers.compactMap { watchers.connections[Int($0.connection)] }.filter { !isIn($0) }
        let back = watchers.paused(on: topic).filter(isIn)
        // Keeps the topic when its last watcher is paused.
        topic.holds += 1
        for connection in left {
            leaving(connection)
            watchers.pause(connection, on: topic)
        }
        for connection in back { watchers.resume(connection, on: topic) }
        watchers.release(topic)
        return left
    }

    private func isIn(_ connection: Connection) -> Bool {
        connection.session.map { users.contains($0.user.id) } ?? false
    }
}
