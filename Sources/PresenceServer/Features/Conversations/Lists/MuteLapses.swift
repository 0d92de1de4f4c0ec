import PresenceCore
import PresenceProtocol

/// Ends of timed mutes, of users whose lists are watched here. Nothing in Redis changes at such an end: the member's
/// version follows from the time (`ConversationRecord`), and the shard sends the change.
final class MuteLapses {
    private struct Mute: Hashable {
        let user: UserID
        let conversation: ConversationID
    }

    private unowned let shard: ShardLogic
    private let isWatched: (UserID) -> Bool
    private let lapsed: (UserID, ConversationID) -> Void
    private var deadline: DeadlineKind!
    /// The change is sent after this ms, by Redis' clock.
    private var untils: [Mute: Timestamp] = [:]
    /// When the deadline is due, by the shard's clock.
    private var due: Milliseconds?
    /// When entries of users who no longer watch were last removed, by the shard's clock.
    private var cleared: Milliseconds = -pause
    private static let pause: Milliseconds = 1_000
    /// The most entries. Clients see the end of further mutes with the next change, or when they subscribe again.
    private static let most = 10_000
    /// The shard's and Redis' clocks are compared again after this time.
    private static let longestWait: Milliseconds = 3_600_000

    init(
        _ shard: ShardLogic, isWatched: @escaping (UserID) -> Bool,
        lapsed: @escaping (UserID, ConversationID) -> Void
    ) {
        (self.shard, self.isWatched, self.lapsed) = (shard, isWatched, lapsed)
    }

    func register(in registry: inout Registry) {
        deadline = registry.deadline { [unowned self] _ in endDue() }
        registry.gauge(
            "conversation_mutes", help: "conversations muted for a time, of users whose lists are watched"
        ) { [unowned self] in untils.count }
    }

    /// Notes the mute of a conversation that a watching user has received, or receives now.
    func record(_ record: ConversationRecord, of user: UserID) {
        let mute = Mute(user: user, conversation: record.id)
        guard let own = record.member(user), own.muted > 0, record.isMuted(own, at: shard.clock.redisNow) else {
            if !untils.isEmpty { untils[mute] = nil }
            return
        }
        guard untils[mute] != nil || hasRoom() else { return }
        let until = own.muted + ConversationRecord.lapseMargin
        untils[mute] = until
        wait(until)
    }

    /// Removes entries of users who no longer watch, at most once a second.
    private func hasRoom() -> Bool {
        if untils.count >= Self.most, shard.clock.now >= cleared + Self.pause {
            cleared = shard.clock.now
            untils = untils.filter { isWatched($0.key.user) }
        }
        return untils.count < Self.most
    }

    private func wait(_ until: Timestamp) {
        let at = shard.clock.now + min(max(until + 1 - shard.clock.redisNow, 1), Self.longestWait)
        guard at < due ?? .max else { return }
        due = at
        shard.deadlines.set(deadline, .none, at: at)
    }

    private func endDue() {
        guard let due, shard.clock.now >= due else { return }
        self.due = nil
        let now = shard.clock.redisNow
        let over = untils.filter { $0.value < now }.sorted { ($0.value, $0.key.user) < ($1.value, $1.key.user) }
        for (mute, _) in over { untils[mute] = nil }
        if let next = untils.values.min() { wait(next) }
        for (mute, _) in over where isWatched(mute.user) { lapsed(mute.user, mute.conversation) }
    }
}
