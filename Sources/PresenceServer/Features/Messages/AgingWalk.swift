import PresenceCore
import PresenceProtocol
import Redis

/// Finds the conversations that had messages before these were kept for a time, and enters them in `aging` of their partitions.
///
/// One walk through the keys of a Redis server finds those of all partitions that it has: where a partition is, its `shards`
/// is. A partition is walked over twice, a day apart: while a setting is changed, servers without it may write for a while. Then
/// it is done for good (`aging-found`), unless a server without the setting comes: that one enters nothing (`AgingReset`).
final class AgingWalk {
    private unowned let shard: ShardLogic
    /// Where it has come to, and which partitions it has seen; `nil` while there is none under way.
    private var walk: (partition: Int, cursor: String, seen: Set<Int>)?
    /// By partition: when it is to be looked at, by this shard's clock.
    private var due: [Milliseconds]
    private let places: [String: Int]

    /// Keys that are looked at in one step.
    private static let keys = 1_000
    private static let window = 8
    private static let between: Milliseconds = 24 * 3_600_000
    /// Until what failed is tried again.
    private static let pause: Milliseconds = 60_000
    private static let done = "done"

    init(_ shard: ShardLogic) {
        self.shard = shard
        due = Array(repeating: 0, count: shard.partitions.count)
        places = Dictionary(
            uniqueKeysWithValues: (0..<shard.partitions.count).map { (shard.partitions.keys($0).name, $0) })
    }

    /// Another server may answer now, which does not know the cursor.
    func interrupt() { walk = nil }

    /// - Parameter done: Gets whether there is more to look at now.
    func step(done: @escaping (Bool) -> Void) {
        if walk != nil { return goOn(done) }
        guard let partition = due.firstIndex(where: { $0 <= shard.clock.now }) else { return done(false) }
        state(of: partition) { [self] state in
            switch state {
            case .never?, .once(wait: ...0)?: walk = (partition, "0", [])
            case .once(let wait)?: due[partition] = shard.clock.now + wait
            case .done?: due[partition] = .max
            case nil: due[partition] = shard.clock.now + Self.pause
            }
            done(true)
        }
    }

    // MARK: Which have been walked over

    private enum State {
        case never
        /// In so many ms it is to be done again.
        case once(wait: Milliseconds)
        case done
    }

    /// - Parameter found: Gets `nil` if the store did not say.
    private func state(of partition: Int, found: @escaping (State?) -> Void) {
        shard.store.command(["GET", shard.partitions.keys(partition).agingFound], lane: .commands) { [self] result in
            found(
                (try? result.get()).map { value in
                    if value.string == Self.done { return .done }
                    // When it was done.
                    let ago = value.int.map {
                        max(0, shard.clock.redisNow.subtractingReportingOverflow($0).partialValue)
                    }
                    return ago.map { .once(wait: max(0, Self.between - min($0, Self.between))) }
                        ?? .never
                })
        }
    }

    private func note(_ partitions: Set<Int>, done: @escaping (Bool) -> Void) {
        BoundedConcurrency(partitions.sorted(), window: Self.window) { [self] partition, next in
            state(of: partition) { [self] state in
                let words: [String]
                switch state {
                case .never?: words = [String(shard.clock.redisNow)]
                // Those that were walked over at once come at once. What has been forgotten meanwhile stays so.
                case .once(wait: ...Self.pause)?: words = [Self.done, "XX"]
                case .once?, .done?, nil: return next()
                }
                let key = shard.partitions.keys(partition).agingFound
                shard.store.command(["SET", key] + words, lane: .commands) { [self] result in
                    // The next step sees it.
                    due[partition] = result.failure == nil ? 0 : shard.clock.now + Self.pause
                    next()
                }
            }
        } done: {
            done(true)
        }
    }

    // MARK: Walking

    private func goOn(_ done: @escaping (Bool) -> Void) {
        guard let (partition, cursor, _) = walk else { return done(false) }
        let keys = shard.partitions.keys(partition)
        shard.store.run(
            .findAging, keys: [keys.shards],
            arguments: [
                keys.events, shard.link.incarnation, shard.partitions.space.keys, cursor, String(Self.keys),
            ], lane: .commands
        ) { [self] result in
            guard !shard.link.noticeFencing(in: result), case .success(let value) = result, let words = value.array,
                words.count > 1, let next = words[1].string, walk != nil
            else {
                walk = nil
                due[partition] = shard.clock.now + Self.pause
                return done(false)
            }
            take(words.dropFirst(2).compactMap(\.string)) { [self] isTaken in
                guard isTaken, walk != nil else {
                    walk = nil
                    due[partition] = shard.clock.now + Self.pause
                    return done(false)
                }
                guard next == "0" else {
                    walk!.cursor = next
                    return done(true)
                }
                let seen = walk!.seen.union([partition])
                walk = nil
                note(seen, done: done)
            }
        }
    }

    /// Enters conversations as due; the sweep finds out when they are.
    private func take(_ keys: [String], done: @escaping (Bool) -> Void) {
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
        var failed = false
        BoundedConcurrency(found.sorted { $0.key < $1.key }, window: Self.window) { [self] entry, next in
            let words = ["ZADD", shard.partitions.keys(entry.key).aging, "NX"] + entry.value.flatMap { ["0", $0] }
            shard.store.command(words, lane: .commands) { result in
                // A damaged one is for `presenced doctor`.
                if let failure = result.failure, !failure.isLasting { failed = true }
                next()
            }
        } done: {
            done(!failed)
        }
    }
}
