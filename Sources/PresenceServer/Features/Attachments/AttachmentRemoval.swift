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
        let round = min(Self.longestRound, max(1_000, shard.configuration[Attachments.unusedFor] / 10))
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
        guard !isBusy else { return }
        isBusy = true
        shard.tasks.run { [self] in
            while let place = wanted.popFirst() { if await look(in: place) { wanted.insert(place) } }
            isBusy = false
        }
    }

    /// - Returns: Whether more may be due.
    private func look(in place: Int) async -> Bool {
        let keys = shard.partitions.keys(place)
        let now = String(shard.clock.redisNow)
        guard let count = try? await shard.command(["ZCOUNT", keys.attachmentsDue, "-inf", now]).int else {
            return false
        }
        if shard.place.number == 0 { waiting[place] = count > 0 ? Int(count) : nil }
        guard count > 0 else { return false }
        let first = ahead[place] ?? 0
        let found = try? await shard.command([
            "ZRANGEBYSCORE", keys.attachmentsDue, "-inf", now, "LIMIT", String(first), String(Self.most),
        ]).array?.compactMap(\.string)
        ahead[place] = nil
        var (isDone, isRefused) = (false, false)
        await shard.tasks.each(found ?? [], window: Self.window) { [self] member in
            switch (try? await release(member, keys)) ?? .failed {
            case .over: isDone = true
            case .refused: isRefused = true
            case .failed: break
            }
        }
        let last = first + (found?.count ?? 0)
        if isRefused { ahead[place] = last }
        return count > Self.most && isDone || isRefused && Int(count) > last
    }

    private enum Outcome { case over, failed, refused }

    /// - Returns: Whether it is due no longer.
    private func release(_ member: String, _ keys: PartitionKeys) async throws(RedisFailure) -> Outcome {
        let words = member.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let name = StoredName(words[0]), let id = ConversationID(String(words[1])) else {
            _ = try? await shard.command(["ZREM", keys.attachmentsDue, member])
            return .over
        }
        let call = ScriptCall(
            .releaseAttachment, in: keys,
            ["attachments": keys.attachments(id), "attachmentsDue": keys.attachmentsDue],
            ["conversation": id, "name": name.text, "unusedFor": shard.configuration[Attachments.unusedFor]])
        do throws(RedisFailure) {
            let word = try await shard.reply(to: call).word
            guard word == "GONE" else { return word == "KEPT" ? .over : .failed }
        } catch  where error.code == "MISCONF" {
            return try await removeAhead(name, keys.attachments(id))
        }
        guard await attachments.removeFiles(name) else {
            // It holds up no others.
            let later = String(shard.clock.redisNow + Self.patience)
            _ = try? await shard.command(["ZADD", keys.attachmentsDue, "XX", later, member])
            return .over
        }
        removed.value += 1
        // In this order: what is not due any more is written down nowhere.
        _ = try await shard.command(["UNLINK", keys.attachment(name)])
        _ = try? await shard.command(["ZREM", keys.attachmentsDue, member])
        return .over
    }

    /// Removes the files of what the script would let go, if Redis let it run. A message that mentions it in the moment in which
    /// Redis takes changes again has lost its file, as it would have a moment later.
    private func removeAhead(_ name: StoredName, _ key: String) async throws(RedisFailure) -> Outcome {
        // "USER AT COUNT"
        let words = try await shard.command(["HGET", key, name.text]).string?.split(separator: " ") ?? []
        if words.count == 3, let at = Timestamp(words[1]) {
            let isUnused = words[2] == "0" && at + shard.configuration[Attachments.unusedFor] <= shard.clock.redisNow
            guard isUnused else { return .refused }
        }
        _ = await attachments.removeFiles(name)
        return .refused
    }
}
