import PresenceProtocol

/// With `redis.interests`: which channels this shard follows, so that events which only watchers need come only to shards with
/// watchers.
///
///     wanted ──▶ asked for ──▶ confirmed ──▶ idle: nobody wants it ──▶ left, after `pause`
///                    ▲             │  ▲         │
///                    └── a break ──┘  └─────────┘ wanted again
///
/// Nothing is read of a subject before its channel is confirmed: what is published after the reading is heard, what was before is
/// in what is read. A channel is left only when it is confirmed: followed again, it waits for a confirmation, and a former one
/// that is still to come would be taken for it. While there is no subscription none is to come, so it is left then too.
package final class Interests {
    private final class Interest {
        let channel: String
        var wishes = 0
        var isConfirmed = false
        /// Stands in `idle`.
        var isIdle = false
        /// When nobody wanted it any more, the last time.
        var releasedAt: Milliseconds = 0
        var waiters: [(Bool) -> Void] = []

        init(_ channel: String) { self.channel = channel }
    }

    /// Names are ASCII, so equal ones are the same bytes.
    private var interests: [String: Interest] = [:]
    /// Those for whose confirmation somebody waits, in order; also some that are confirmed meanwhile.
    private var awaited: [Interest] = []
    /// How many of these those are.
    private var settled = 0
    /// Those that nobody wanted, since when, oldest first, from `head` on.
    private var idle: [(interest: Interest, since: Milliseconds)] = []
    private var head = 0

    private let store: any Store
    private let partitions: Partitions
    private let clock: ShardClock
    /// How many channels were asked for and how many left since the start.
    private(set) var asked = 0
    private(set) var left = 0

    /// Who comes back within this costs nothing.
    static let pause: Milliseconds = 1_000
    /// So many are left in a turn at most, or a sixteenth of those that nobody wants, so that leaving keeps up with any number
    /// of new ones.
    static let batch = 512

    init(store: any Store, partitions: Partitions, clock: ShardClock) {
        self.store = store
        self.partitions = partitions
        self.clock = clock
    }

    var count: Int { interests.count }

    // MARK: Wanting

    /// There is a topic of this user or conversation.
    func want(_ subject: Identifier) {
        let partition = partitions.index(of: subject)
        want(partitions.keys(partition).events(of: subject), of: partition)
    }

    /// There is one less.
    func release(_ subject: Identifier) { release(partitions.keys(of: subject).events(of: subject)) }

    /// A channel of a partition is to be followed until `release`, which is called as often.
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

    /// Calls `done` once nothing of the subject is missed any more, or with false if that cannot be now.
    func whenFollowed(_ subject: Identifier, done: @escaping (Bool) -> Void) {
        whenFollowed(partitions.keys(of: subject).events(of: subject), done: done)
    }

    /// The same of a channel.
    package func whenFollowed(_ channel: String, done: @escaping (Bool) -> Void) {
        guard let interest = interests[channel] else { return done(false) }
        guard !interest.isConfirmed else { return done(true) }
        if interest.waiters.isEmpty { awaited.append(interest) }
        interest.waiters.append(done)
    }

    // MARK: What the store says

    func confirm(_ channel: String) {
        // One that nobody wants any more is left a little later.
        guard let interest = interests[channel], !interest.isConfirmed else { return }
        interest.isConfirmed = true
        if interest.wishes == 0 { rest(interest) }
        guard !interest.waiters.isEmpty else { return }
        settle(interest, true)
        settled += 1
        if awaited.count > 64, settled * 2 > awaited.count {
            awaited.removeAll { $0.waiters.isEmpty }
            settled = 0
        }
    }

    /// The subscription broke: each channel is confirmed anew when there is another.
    func lost() {
        for interest in interests.values { interest.isConfirmed = false }
        let waiting = awaited
        (awaited, settled) = ([], 0)
        for interest in waiting { settle(interest, false) }
    }

    private func settle(_ interest: Interest, _ isFollowed: Bool) {
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

    /// Leaves what nobody has wanted for a while. Called in every turn.
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
