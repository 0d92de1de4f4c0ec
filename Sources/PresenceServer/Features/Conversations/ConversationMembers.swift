import PresenceCore
import PresenceProtocol

/// Who is in a conversation that is watched, as this shard knows. Only they hear of it: a connection whose user is taken out
/// keeps its watch, which rests, and goes on from there if they are put in again.
final class ConversationMembers {
    private(set) var users: Set<UserID> = []
    private var events = 0

    /// An event has told them.
    func told(_ users: Set<UserID>) {
        events += 1
        self.users = users
    }

    /// An event has told them, which may be older than what was read: it only takes out. Who is in it again is read.
    func toldAtMost(_ users: Set<UserID>) {
        events += 1
        self.users.formIntersection(users)
    }

    /// Asks Redis for them, and for what only they hear of. An answer is asked for again if an event has come meanwhile: either
    /// may be the newer one, and what the answer holds may be from after the event.
    func asking(_ ask: @escaping (@escaping StoreReply) -> Void, reply: @escaping StoreReply) {
        let asked = events
        ask { [self] result in
            guard events != asked, case .success = result else { return reply(result) }
            asking(ask, reply: reply)
        }
    }

    /// What was asked for with `asking`.
    func answered(_ users: Set<UserID>) { self.users = users }

    /// Lets only members hear of a topic of the conversation.
    ///
    /// - Parameter leaving: Gets each connection whose watch rests from now on, before it does.
    /// - Returns: Those whose watch rests from now on.
    @discardableResult
    func apply(to topic: Topic, in watchers: Watchers, leaving: (Connection) -> Void = { _ in }) -> [Connection] {
        let left = topic.watchers.compactMap { watchers.connections[Int($0.connection)] }.filter { !isIn($0) }
        let back = watchers.paused(on: topic).filter(isIn)
        // A topic may go with its last watcher.
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
