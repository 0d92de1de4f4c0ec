import PresenceCore
import PresenceProtocol
import Redis

/// Finds the conversations that had messages before these were kept for a limited time, and adds them to `aging` of
/// their partitions.
///
/// One walk through the keys of a Redis server finds the conversations of all its partitions; a partition is on that
/// server if the partition's `shards` is. Each partition is walked twice, a day apart, because servers without the
/// setting may write for a while after the setting was changed. Then the partition is done for good (`aging-found`),
/// until a server without the setting starts: such a server adds no conversations to `aging` (`AgingReset`).
final class AgingWalk {
    private unowned let shard: ShardLogic
    /// The present cursor, and the partitions seen so far; `nil` between walks.
    private var walk: (partition: Int, cursor: String, seen: Set<Int>)?
    /// By partition: when its state is read next, by this shard's clock.
    private var due: [Milliseconds]
    private let places: [String: Int]

    /// The most keys that one step reads.
    private static let keys = 1_000
    private static let window = 8
    private static let between: Milliseconds = 24 * 3_600_000
    /// The pause before a failed step is repeated.
    private static let pause: Milliseconds = 60_000
    private static let done = "done"

    init(_ shard: ShardLogic) {
        self.shard = shard
        due = Array(repeating: 0, count: shard.partitions.count)
        places = Dictionary(
            uniqueKeysWithValues: (0..<shard.partitions.count).map { (shard.partitions.keys($0).name, $0) })
    }

    /// From now on another server may answer, to which the cursor means nothing.
    func interrupt() { walk = nil }

    /// - Returns: whether there is more to do now.
    func step() async -> Bool {
        if walk != nil { return await scanNext() }
        guard let partition = due.firstIndex(where: { $0 <= shard.clock.now }) else { return false }
        switch await state(of: partition) {
        case .never?, .once(wait: ...0)?: walk = (partition, "0", [])
        case .once(let wait)?: due[partition] = shard.clock.now + wait
        case .done?: due[partition] = .max
        case nil: due[partition] = shard.clock.now + Self.pause
        }
        return true
    }

    // MARK: Which have been walked over

    private enum State {
        case never
        /// It must be walked again in this many ms.
        case once(wait: Milliseconds)
        case done
    }

    /// - Returns: `nil` if the store did not reply.
    private func state(of partition: Int) async -> State? {
        guard let value = try? await shard.command(["GET", shard.partitions.keys(partition).agingFound]) else {
            return nil
        }
        if value.string == Self.done { return .done }
        // The time of the first walk.
        guard let at = value.int else { return .never }
        let ago = max(0, shard.clock.redisNow.subtractingReportingOverflow(at).partialValue)
        return .once(wait: max(0, Self.between - min(ago, Self.between)))
    }

    private func store(_ partition: Int) async {
        let words: [String]
        switch await state(of: partition) {
        case .never?: words = [String(shard.clock.redisNow)]
        // The pause is added because partitions that were walked together the first time are due together. XX: a record
        // that was removed meanwhile stays removed.
        case .once(wait: ...Self.pause)?: words = [Self.done, "XX"]
        case .once?, .done?, nil: return
        }
        let key = shard.partitions.keys(partition).agingFound
        let isNoted = (try? await shard.command(["SET", key] + words)) != nil
        // The next step reads the partition's state.
        due[partition] = isNoted ? 0 : shard.clock.now + Self.pause
    }

    // MARK: Walking

    private func scanNext() async -> Bool {
        guard let (partition, cursor, _) = walk else { return false }
        let call = ScriptCall(
            .findAging, in: shard.partitions.keys(partition), [:],
            ["beginning": shard.partitions.space.keys, "cursor": cursor, "count": Self.keys])
        let reply = try? await shard.reply(to: call)
        guard let reply, let next = reply[0].string, walk != nil,
            await addDue(reply.rest.dropFirst().compactMap(\.string)), walk != nil
        else {
            walk = nil
            due[partition] = shard.clock.now + Self.pause
            return false
        }
        guard next == "0" else {
            walk!.cursor = next
            return true
        }
        let seen = walk!.seen.union([partition])
        walk = nil
        await shard.tasks.each(seen.sorted(), window: Self.window) { [self] in await store($0) }
        return true
    }

    /// Adds conversations as due; the sweep finds their real time.
    ///
    /// - Returns: whether all of them were added.
    private func addDue(_ keys: [String]) async -> Bool {
        var found: [Int: [String]] = [:]
        for key in keys {
            guard let end = key.firstIndex(of: "}"), let partition = places[String(key[...end])] else { continue }
            let keys = shard.partitions.keys(partition)
            if key == keys.shards {
                walk?.seen.insert(partition)
            } else if key.hasPrefix(keys.conversations) {
                found[partition, default: []].append(String(key.dropFirst(keys.conversations.count)))
            }
        }
        var isTaken = true
        await shard.tasks.each(found.sorted { $0.key < $1.key }, window: Self.window) { [self] entry in
            let words = ["ZADD", shard.partitions.keys(entry.key).aging, "NX"] + entry.value.flatMap { ["0", $0] }
            do throws(RedisFailure) {
                _ = try await shard.command(words)
            } catch {
                // `presenced doctor` reports a damaged set.
                if !error.isLasting { isTaken = false }
            }
        }
        return isTaken
    }
}
