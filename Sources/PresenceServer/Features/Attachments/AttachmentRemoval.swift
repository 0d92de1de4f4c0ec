import PresenceCore
import PresenceProtocol
import Redis

/// Removes the files of uploads to which no message refers: at once if this shard deleted the message, otherwise within a
/// minute.
///
/// The scripts list due uploads (`attachments-due`), where they stay until their files are deleted. A crash or unreachable
/// storage therefore only delays the removal. The first shard of each server checks one partition after the other; several
/// servers may check the same one at once.
///
/// A Redis whose disk is full refuses changes, needs exactly the room that these files take, and keeps every server stale. So
/// the checks continue then, and delete the due files before the scripts release them (`removeAhead`). The uploads stay listed
/// as due.
final class AttachmentRemoval {
    /// The longest time in which all partitions are checked once.
    private static let longestRound: Milliseconds = 60_000
    /// The most due uploads that one check reads, and the most that are removed at a time.
    private static let most = 20
    private static let window = 4
    /// The delay before a failed removal is retried.
    private static let patience: Milliseconds = 60_000

    private unowned let attachments: Attachments
    private let removed: MetricCounter
    private var deadline: DeadlineKind!
    private var isBusy = false
    private var partition = 0
    /// Partitions in which this shard may have made uploads due.
    private var wanted: Set<Int> = []
    /// The number of due uploads at the last check, by partition.
    private var waiting: [Int: Int] = [:]
    /// While Redis refuses changes: how many of the due uploads were already handled, by partition.
    private var ahead: [Int: Int] = [:]

    private var shard: ShardLogic { attachments.shard }

    init(_ attachments: Attachments, in registry: inout Registry) {
        self.attachments = attachments
        removed = registry.counter("attachments_removed_total", help: "attachments without a message, removed")
        registry.gauge(
            "attachments_due", help: "attachments whose files are to be removed, as this server last saw them"
        ) {
            [unowned self] in waiting.values.reduce(0, +)
        }
        deadline = registry.deadline { [unowned self] _ in scanNext() }
    }

    /// Starts the checks when the shard becomes live; one shard of a server is enough.
    func start() {
        if shard.place.number == 0 { wait() }
    }

    /// Checks the partition of a conversation, in which something may be due.
    func scanPartition(of id: ConversationID) {
        wanted.insert(shard.partitions.index(of: id))
        scanWanted()
    }

    private func wait() {
        let round = min(Self.longestRound, max(1_000, shard.configuration[Attachments.unusedFor] / 10))
        let pause = max(1, round / Milliseconds(shard.partitions.count))
        shard.deadlines.setOnly(deadline, at: shard.clock.now + pause)
    }

    private func scanNext() {
        wait()
        wanted.insert(partition)
        partition = (partition + 1) % shard.partitions.count
        scanWanted()
    }

    private func scanWanted() {
        guard !isBusy else { return }
        isBusy = true
        shard.tasks.run { [self] in
            while let place = wanted.popFirst() { if await scan(place) { wanted.insert(place) } }
            isBusy = false
        }
    }

    /// - Returns: Whether more uploads may be due.
    private func scan(_ place: Int) async -> Bool {
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

    /// - Returns: Whether the upload is no longer due.
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
            // Postponed, so that it does not block others.
            let later = String(shard.clock.redisNow + Self.patience)
            _ = try? await shard.command(["ZADD", keys.attachmentsDue, "XX", later, member])
            return .over
        }
        removed.value += 1
        // In this order, so that no key is left without an entry in the list.
        _ = try await shard.command(["UNLINK", keys.attachment(name)])
        _ = try? await shard.command(["ZREM", keys.attachmentsDue, member])
        return .over
    }

    /// Removes the files that the script would release if Redis could run it. If Redis accepts changes again and a message
    /// refers to the upload at this very moment, its file is lost, as it would be a moment later.
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
