import PresenceProtocol

/// With `redis.interests`: the channels that this shard subscribes to, so that events for watchers reach only shards
/// with watchers.
///
///     wanted ──▶ subscribing ──▶ confirmed ──▶ idle: not wanted ──▶ left, after `pause`
///                     ▲              │  ▲        │
///                     └── a break ───┘  └────────┘ wanted again
///
/// A subject is read only after its channel is confirmed: earlier changes are in what is read, later ones arrive as
/// events. A channel is left only when it is confirmed. Otherwise, if the channel were wanted again, the confirmation
/// of the earlier subscription could be taken for that of the new one. Without a connection to Redis no confirmation is
/// pending, so then a channel is left at once.
package final class Interests {
    private final class Interest {
        let channel: String
        var wishes = 0
        var isConfirmed = false
        /// Whether it is in the list `idle`.
        var isIdle = false
        /// When its last user released it.
        var releasedAt: Milliseconds = 0
        var waiters: [(Bool) -> Void] = []

        init(_ channel: String) { self.channel = channel }
    }

    /// Names are ASCII, so equal ones are the same bytes.
    private var interests: [String: Interest] = [:]
    /// Interests with waiters, in order, and some that have been confirmed since.
    private var awaited: [Interest] = []
    /// The number of interests in `awaited` that have been confirmed since.
    private var settled = 0
    /// Unwanted interests and since when, oldest first, starting at `head`.
    private var idle: [(interest: Interest, since: Milliseconds)] = []
    private var head = 0

    private let store: any Store
    private let partitions: Partitions
    private let clock: ShardClock
    /// Channels subscribed to and left since the start.
    private(set) var asked = 0
    private(set) var left = 0

    /// A channel that is wanted again within this time costs nothing.
    static let pause: Milliseconds = 1_000
    /// The most channels that are left in a turn; or a sixteenth of the idle ones if that is more, so that leaving
    /// keeps up with any number of new idle ones.
    static let batch = 512

    init(store: any Store, partitions: Partitions, clock: ShardClock) {
        self.store = store
        self.partitions = partitions
        self.clock = clock
    }

    var count: Int { interests.count }

    // MARK: Wanting

    /// A topic of this user or conversation was made.
    func want(_ subject: Identifier) {
        let partition = partitions.index(of: subject)
        want(partitions.keys(partition).events(of: subject), of: partition)
    }

    /// One of the subject's topics was discarded.
    func release(_ subject: Identifier) { release(partitions.keys(of: subject).events(of: subject)) }

    /// Subscribes to a channel of a partition, until `release` has been called as many times as `want`.
    package func want(_ channel: String, of partition: Int) {
        if let interest = interests[channel] {
            interest.wishes += 1
            return
        }
        let interest = Interest(channel)
        interest.wishes = 1
        interests[channel] = interest
        asked += 1
        store.follow(channel, partition: partition)
    }

    package func release(_ channel: String) {
        guard let interest = interests[channel] else { return }
        interest.wishes -= 1
        if interest.wishes == 0 { rest(interest) }
    }

    /// Calls `done` once all events of the subject are received, or with false if that is impossible now.
    func whenFollowed(_ subject: Identifier, done: @escaping (Bool) -> Void) {
        whenFollowed(partitions.keys(of: subject).events(of: subject), done: done)
    }

    /// The same for a channel.
    package func whenFollowed(_ channel: String, done: @escaping (Bool) -> Void) {
        guard let interest = interests[channel] else { return done(false) }
        guard !interest.isConfirmed else { return done(true) }
        if interest.waiters.isEmpty { awaited.append(interest) }
        interest.waiters.append(done)
    }

    // MARK: Reports of the store

    func confirm(_ channel: String) {
        // A channel that is not wanted any more is left a little later.
        guard let interest = interests[channel], !interest.isConfirmed else { return }
        interest.isConfirmed = true
        if interest.wishes == 0 { rest(interest) }
        guard !interest.waiters.isEmpty else { return }
        complete(interest, true)
        settled += 1
        if awaited.count > 64, settled * 2 > awaited.count {
            awaited.removeAll { $0.waiters.isEmpty }
            settled = 0
        }
    }

    /// The subscription broke: each channel must be confirmed on the next one.
    func lost() {
        for interest in interests.values { interest.isConfirmed = false }
        let waiting = awaited
        (awaited, settled) = ([], 0)
        for interest in waiting { complete(interest, false) }
    }

    private func complete(_ interest: Interest, _ isFollowed: Bool) {
        let waiters = interest.waiters
        interest.waiters = []
        waiters.forEach { $0(isFollowed) }
    }

    // MARK: Leaving

    private func rest(_ interest: Interest) {
        interest.releasedAt = clock.now
        guard !interest.isIdle else { return }
        interest.isIdle = true
        idle.append((interest, clock.now))
    }

    /// Leaves channels that have not been wanted for a while. Called in every turn.
    func tick() {
        guard head < idle.count, clock.now - idle[head].since >= Self.pause else { return }
        var count = 0
        let most = max(Self.batch, (idle.count - head) / 16)
        let mustBeConfirmed = store.isSubscribing
        while head < idle.count, count < most, clock.now - idle[head].since >= Self.pause {
            let interest = idle[head].interest
            head += 1
            if interest.wishes == 0, clock.now - interest.releasedAt < Self.pause {
                idle.append((interest, interest.releasedAt))
                continue
            }
            if interest.wishes == 0, mustBeConfirmed, !interest.isConfirmed {
                idle.append((interest, clock.now))
                continue
            }
            interest.isIdle = false
            guard interest.wishes == 0 else { continue }
            count += 1
            left += 1
            interests[interest.channel] = nil
            store.leave(interest.channel)
        }
        if head == idle.count {
            idle.removeAll(keepingCapacity: idle.count <= 4_096)
            head = 0
        } else if head >= 1_024, head * 2 >= idle.count {
            idle.removeFirst(head)
            head = 0
        }
    }
}
