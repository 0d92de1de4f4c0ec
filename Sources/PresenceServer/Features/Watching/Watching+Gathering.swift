import PresenceCore
import PresenceProtocol

/// What a subscription is answered with that is read for it alone.
extension Watching {
    /// What a subscription is answered with that has to be read first.
    struct Gathered {
        var outcome = Topic.RedisOutcome.loaded
        var isForbidden = false
        /// A conversation, or the list of them, cannot be read.
        var isDamaged = false
        var messages: [ConversationID: MessageSnapshot] = [:]
        /// The list of the user's conversations, if it was asked for.
        var subscriber: ConversationLists.Subscriber?
        var list: [[UInt8]] = []
        /// The user's notifications, likewise.
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
            // Events of these are noted from now on, so nothing is missed between what is read and what follows.
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
