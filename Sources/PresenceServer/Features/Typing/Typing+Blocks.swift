import PresenceCore
import PresenceProtocol

/// Recent blocks, until typing that began before a block has expired everywhere. Redis still has that typing, because a
/// block is in another partition.
struct RecentBlocks {
    private struct Block: Hashable {
        let by: UserID
        /// `nil`: the event does not name the users, because they are too many.
        let of: UserID?
    }

    /// When each expires, on the monotonic clock.
    private var blocks: [Block: Milliseconds] = [:]

    var isEmpty: Bool { blocks.isEmpty }

    mutating func apply(_ change: PolicyChange, by user: UserID, until: Milliseconds, now: Milliseconds) {
        blocks = blocks.filter { $0.value > now }
        for other in change.removed { blocks[Block(by: user, of: other)] = nil }
        for other in change.added { blocks[Block(by: user, of: other)] = until }
        if change.isUntold { blocks[Block(by: user, of: nil)] = until }
    }

    /// Whether one of the two users has blocked the other, or has blocked many users at once.
    func separate(_ a: UserID, _ b: UserID, now: Milliseconds) -> Bool {
        [Block(by: a, of: b), Block(by: b, of: a), Block(by: a, of: nil), Block(by: b, of: nil)]
            .contains { (blocks[$0] ?? 0) > now }
    }
}

/// If one user blocks the other, neither is shown typing in their direct conversation, even if it began before the
/// block.
extension Typing {
    func handle(visibility event: StoreEvent) {
        guard let user = event.subject, let change = PolicyChange(event), change.list == .blocks else { return }
        let now = shard.clock.now
        blocked.apply(change, by: user, until: now + expiry, now: now)
        guard !blocked.isEmpty else { return }
        for index in active.sorted() {
            guard let topic = shard.watchers.topic(index), var state = topic.conversation, !state.typists.isEmpty,
                state.participants.contains(user), isBlocked(topic.subject, state.participants)
            else { continue }
            state.typists = [:]
            state.version += 1
            topic.conversation = state
            publish(topic, at: shard.clock.redisNow, announced: true)
        }
    }

    /// Whether it is a direct conversation in which one user has just blocked the other.
    func isBlocked(_ id: ConversationID, _ participants: Set<UserID>) -> Bool {
        guard !blocked.isEmpty, participants.count == 2, let a = participants.min(), let b = participants.max(),
            blocked.separate(a, b, now: shard.clock.now)
        else { return false }
        return talks.isDirect(id, of: a, b)
    }
}
