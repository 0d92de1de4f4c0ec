import PresenceCore
import PresenceProtocol

/// Who is in a conversation that is watched, as this shard knows. Only they hear of it: a connection whose user is taken out
/// keeps its watch, which rests, and goes on from there if they are put in again.
final class ConversationMembers {
    private(set) var users: Set<UserID> = []
    private var events = 0
    private var isOvertaken = false

    /// An event has told them.
    func told(_ users: Set<UserID>) {
        events += 1
        self.users = users
    }

    /// Redis is asked for them: an event that comes meanwhile is newer than the answer, or another one follows.
    func asking(_ reply: @escaping StoreReply) -> StoreReply {
        let asked = events
        return { [self] result in
            isOvertaken = events != asked
            reply(result)
        }
    }

    /// What was asked for with `asking`.
    func answered(_ users: Set<UserID>) {
        if !isOvertaken { self.users = users }
    }

    /// Lets only members hear of a topic of the conversation.
    ///
    /// - Returns: Those whose watch rests from now on, and whether there are some whose watch goes on.
    @discardableResult
    func apply(to topic: Topic, in watchers: Watchers) -> (left: [Connection], cameBack: Bool) {
        let left = topic.watchers.compactMap { watchers.connections[Int($0.connection)] }.filter { !isIn($0) }
        let back = watchers.paused(on: topic).filter(isIn)
        // A topic may go with its last watcher.
        topic.holds += 1
        for connection in left { watchers.pause(connection, on: topic) }
        for connection in back { watchers.resume(connection, on: topic) }
        watchers.release(topic)
        return (left, !back.isEmpty)
    }

    private func isIn(_ connection: Connection) -> Bool {
        connection.session.map { users.contains($0.user.id) } ?? false
    }
}
