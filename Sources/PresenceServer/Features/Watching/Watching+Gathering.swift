import PresenceCore
import PresenceProtocol

/// The parts of a subscription's answer that are read only for this answer.
extension Watching {
    /// The parts of a subscription's answer that must be read first.
    struct Gathered {
        var outcome = Topic.RedisOutcome.loaded
        var isForbidden = false
        /// A conversation, or the list of them, cannot be read.
        var isDamaged = false
        var messages: [ConversationID: MessageSnapshot] = [:]
        /// The list of the user's conversations, if requested.
        var subscriber: ConversationLists.Subscriber?
        var list: [[UInt8]] = []
        /// The user's notifications, if requested.
        var watcher: NotificationInboxes.Subscriber?
        var notifications: NotificationReading?
    }

    func gather(
        _ request: ClientMessage.Subscribe, _ topics: [Topic], for connection: Connection,
        done: @escaping (Gathered) -> Void
    ) {
        guard let user = connection.session?.user.id else { return done(Gathered()) }
        var gathered = Gathered()
        var waiting = 4
        func finish() {
            waiting -= 1
            if waiting == 0 { done(gathered) }
        }
        shard.loader.load(topics, for: user) { outcome in
            if outcome == .failed { gathered.outcome = .failed }
            finish()
        }
        if let messages {
            // The topics keep these events from now on, so none is missed between the read and the first event.
            messages.snapshots(request.messages, for: user) { outcome in
                switch outcome {
                case .read(let snapshots): gathered.messages = snapshots
                case .forbidden: gathered.isForbidden = true
                case .failed: gathered.outcome = .failed
                case .damaged: gathered.isDamaged = true
                }
                finish()
            }
        } else {
            finish()
        }
        let isReachable = shard.link.isLive && !shard.isStoreFull()
        if !isReachable, request.conversationList || request.notifications { gathered.outcome = .failed }
        if request.notifications, isReachable, let inboxes = notifications?.inboxes {
            gathered.watcher = inboxes.begin(connection, user)
            inboxes.read(user) { result in
                switch result {
                case .success(let reading): gathered.notifications = reading
                case .failure: gathered.outcome = .failed
                }
                finish()
            }
        } else {
            finish()
        }
        guard request.conversationList, isReachable else { return finish() }
        gathered.subscriber = talks.lists.begin(connection, user)
        talks.lists.list(of: user, known: request.knownConversations) { result in
            switch result {
            case .success(let list): gathered.list = list
            case .failure(let failure) where failure.isLasting: gathered.isDamaged = true
            case .failure: gathered.outcome = .failed
            }
            finish()
        }
    }
}
