import PresenceCore
import PresenceProtocol
import Redis

/// Removes the files of uploads that no message mentions: at once where a message was deleted through this shard, everything else
/// within a minute.
///
/// The scripts write down what is due (`attachments-due`), and there it stays until the files are gone. So a crash delays it, and
/// storage that is out of reach does too. The first shard of each server looks at one partition after the other; servers may
/// look at the same at once.
///
/// A Redis that refuses changes because its disk is full needs just this room, and no server is live then. So the rounds go on, and
/// the files of what is due go before the scripts have said so (`removeAhead`). What is due stays written down.
final class AttachmentRemoval {
    /// In which all partitions are looked at, at most.
    private static let longestRound: Milliseconds = 60_000
    /// Of one look, and how many of them are removed at a time.
    private static let most = 20
    private static let window = 4
    /// Until what could not be removed is tried again.
    private static let patience: Milliseconds = 60_000

    private unowned let attachments: Attachments
    private let removed: MetricCounter
    private var deadline: DeadlineKind!
    private var isBusy = false
    private var partition = 0
    /// Partitions in which something may have become due through this shard.
    private var wanted: Set<Int> = []
    /// What was due at the last look, by partition.
    private var waiting: [Int: Int] = [:]
    /// How many of those, from the first on, have been looked at while Redis refuses changes, by partition.
    private var ahead: [Int: Int] = [:]

    private var shard: ShardLogic { attachments.shard }

    init(_ attachments: Attachments, in registry: inout Registry) {
        self.attachments = attachments
        removed = registry.counter("attachments_removed_total", help: "attachments that no message mentions, removed")
        registry.gauge(
            "attachments_due", help: "attachments whose files are to be removed, as this server last saw them"
        ) {
            [unowned self] in waiting.values.reduce(0, +)
        }
        deadline = registry.deadline { [unowned self] _ in lookOn() }
    }

    /// The shard is live. One shard of a server is enough.
    func start() {
        if shard.place.number == 0 { wait() }
    }

    /// Something may be due in the partition of a conversation.
    func look(at id: ConversationID) {
        wanted.insert(shard.partitions.index(of: id))
        lookNow()
    }

    private func wait() {
        let round = min(Self.longestRound, max(1_000, shard.configuration[.attachmentUnused] / 10))
        let pause = max(1, round / Milliseconds(shard.partitions.count))
        shard.deadlines.setOnly(deadline, at: shard.clock.now + pause)
    }

    private func lookOn() {
        wait()
        wanted.insert(partition)
        partition = (partition + 1) % shard.partitions.count
        lookNow()
    }

    private func lookNow() {
        guard !isBusy, let place = wanted.popFirst() else { return }
        isBusy = true
        look(in: place) { [self] hasMore in
            isBusy = false
            if hasMore { wanted.insert(place) }
            lookNow()
        }
    }

    /// - Parameter done: Gets whether more may be due.
    private func look(in place: Int, done: @escaping (Bool) -> Void) {
        let keys = shard.partitions.keys(place)
        let now = String(shard.clock.redisNow)
        shard.store.command(["ZCOUNT", keys.attachmentsDue, "-inf", now], lane: .commands) { [self] result in
            guard case .success(let value) = result, let count = value.int else { return done(false) }
            if shard.place.number == 0 { waiting[place] = count > 0 ? Int(count) : nil }
            guard count > 0 else { return done(false) }
            let first = ahead[place] ?? 0
            shard.store.command(
                ["ZRANGEBYSCORE", keys.attachmentsDue, "-inf", now, "LIMIT", String(first), String(Self.most)],
                lane: .commands
            ) { [self] result in
                let found = (try? result.get().array?.compactMap(\.string)) ?? []
                ahead[place] = nil
                var (isDone, isRefused) = (false, false)
                BoundedConcurrency(found, window: Self.window) { [self] member, next in
                    release(member, keys) { outcome in
                        if outcome == .over { isDone = true }
                        if outcome == .refused { isRefused = true }
                        next()
                    }
                } done: { [self] in
                    if isRefused { ahead[place] = first + found.count }
                    done(count > Self.most && isDone || isRefused && Int(count) > first + found.count)
                }
            }
        }
    }

    private enum Outcome { case over, failed, refused }

    /// - Parameter done: Gets whether it is due no longer.
    private func release(_ member: String, _ keys: PartitionKeys, _ done: @escaping (Outcome) -> Void) {
        let words = member.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let name = StoredName(words[0]), let id = ConversationID(String(words[1])) else {
            return shard.store.command(["ZREM", keys.attachmentsDue, member], lane: .commands) { _ in done(.over) }
        }
        shard.store.run(
            .releaseAttachment, keys: [keys.shards, keys.attachments(id), keys.attachmentsDue],
            arguments: [
                keys.events, shard.link.incarnation, id.string, name.text,
                String(shard.configuration[.attachmentUnused]),
            ], lane: .commands
        ) { [self] result in
            if result.failure?.code == "MISCONF" { return removeAhead(name, keys.attachments(id), done) }
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result, let words = value.array,
                words.count > 1
            else { return done(.failed) }
            guard words[1].string == "1" else { return done(.over) }
            attachments.removeFiles(name) { [self] isGone in
                guard isGone else { return putOff(member, keys, done) }
                removed.value += 1
                // In this order: what is not due any more is written down nowhere.
                shard.store.command(["UNLINK", keys.attachment(name)], lane: .commands) { [self] result in
                    guard case .success = result else { return done(.failed) }
                    shard.store.command(["ZREM", keys.attachmentsDue, member], lane: .commands) { _ in done(.over) }
                }
            }
        }
    }

    /// It holds up no others.
    private func putOff(_ member: String, _ keys: PartitionKeys, _ done: @escaping (Outcome) -> Void) {
        let later = String(shard.clock.redisNow + Self.patience)
        shard.store.command(["ZADD", keys.attachmentsDue, "XX", later, member], lane: .commands) { _ in done(.over) }
    }

    /// Removes the files of what the script would let go, if Redis let it run. A message that mentions it in the moment in which
    /// Redis takes changes again has lost its file, as it would have a moment later.
    private func removeAhead(_ name: StoredName, _ key: String, _ done: @escaping (Outcome) -> Void) {
        shard.store.command(["HGET", key, name.text], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return done(.failed) }
            // "USER AT COUNT"
            let words = value.string?.split(separator: " ") ?? []
            if words.count == 3, let at = Timestamp(words[1]) {
                let isUnused = words[2] == "0" && at + shard.configuration[.attachmentUnused] <= shard.clock.redisNow
                guard isUnused else { return done(.refused) }
            }
            attachments.removeFiles(name) { _ in done(.refused) }
        }
    }
}
