import PresenceCore
import PresenceProtocol
import Redis

/// The parts of a subscription's answer that are read only for this answer.
extension Watching {
    /// The parts of a subscription's answer that must be read first.
    struct Gathered {
        var obstacles: Set<Obstacle> = []
        var messages: [ConversationID: MessageSnapshot] = [:]
        /// The list of the user's conversations, if requested.
        var subscriber: ConversationLists.Subscriber?
        var list: [[UInt8]] = []
        /// The user's notifications, if requested.
        var watcher: NotificationInboxes.Subscriber?
        var notifications: NotificationReading?
    }

    /// Why a part of the answer is missing.
    enum Obstacle: Error {
        case forbidden
        case unreachable
        /// A conversation, or the list of them, cannot be read.
        case damaged
    }

    func gather(
        _ request: ClientMessage.Subscribe, _ topics: [Topic], for connection: Connection,
        done: @escaping (Gathered) -> Void
    ) {
        guard let user = connection.session?.user.id else { return done(Gathered()) }
        var gathered = Gathered()
        var waiting = 1
        func finish(_ obstacle: Obstacle? = nil) {
            if let obstacle { gathered.obstacles.insert(obstacle) }
            waiting -= 1
            if waiting == 0 { done(gathered) }
        }
        func read(_ part: @escaping () async throws(Obstacle) -> Void) {
            waiting += 1
            shard.tasks.run {
                var obstacle: Obstacle?
                do throws(Obstacle) { try await part() } catch { obstacle = error }
                finish(obstacle)
            }
        }
        let isReachable = shard.link.isLive && !shard.isStoreFull()
        if !isReachable, request.conversationList || request.notifications { gathered.obstacles.insert(.unreachable) }
        if let messages, !request.messages.isEmpty {
            // The topics keep these events from now on, so none is missed between the read and the first event.
            read { () throws(Obstacle) in
                gathered.messages = try await messages.snapshots(request.messages, for: user)
            }
        }
        if request.notifications, isReachable, let inboxes = notifications?.inboxes {
            gathered.watcher = inboxes.begin(connection, user)
            read { () throws(Obstacle) in
                do { gathered.notifications = try await inboxes.read(user) } catch { throw .unreachable }
            }
        }
        if request.conversationList, isReachable {
            let lists = talks.lists
            gathered.subscriber = lists.begin(connection, user)
            read { () throws(Obstacle) in
                do throws(RedisFailure) {
                    gathered.list = try await lists.list(of: user, known: request.knownConversations)
                } catch {
                    throw error.isLasting ? .damaged : .unreachable
                }
            }
        }
        shard.loader.load(topics, for: user) { finish($0 == .failed ? .unreachable : nil) }
    }
}
