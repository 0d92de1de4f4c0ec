import PresenceCore
import PresenceProtocol
import Redis

/// Removes messages that are older than `messages.keepFor`, also from idle conversations.
///
/// Each partition has a set of its conversations by the time of their oldest message (`aging`). A send adds a missing
/// conversation. The first shard of each server takes one partition after the other, and removes expired messages in
/// bounded steps. Each step compares times by Redis' clock, so servers may do the same work at once, and a shortened
/// setting applies to existing messages.
///
/// Conversations that had messages before the setting was on are not in the set: `AgingWalk` adds them as due, and the
/// next step finds their real time.
final class MessageAging {
    /// The longest round through all partitions if nothing is due: expired messages are promised to be removed within a
    /// minute.
    private static let longestRound: Milliseconds = 50_000
    /// The pause between two steps while a partition has more to do.
    private static let haste: Milliseconds = 10
    /// After this many steps the next partition has its turn.
    private static let mostSteps = 100
    /// The most conversations in one step, the most messages of each, and how many conversations are handled at once.
    private static let mostConversations = 20
    private static let mostMessages = 500
    private static let window = 4

    private unowned let shard: ShardLogic
    private let keepFor: Milliseconds
    private let expired: MetricCounter
    private var deadline: DeadlineKind!
    private var isBusy = false
    private var partition = 0
    private var steps = 0
    private let walk: AgingWalk

    init(_ shard: ShardLogic, counting expired: MetricCounter, in registry: inout Registry) {
        self.shard = shard
        keepFor = shard.configuration[Messages.keepFor]
        self.expired = expired
        walk = AgingWalk(shard)
        deadline = registry.deadline { [unowned self] _ in shard.tasks.run { [unowned self] in await step() } }
    }

    /// The pause between two steps while there is no more to do: everything that is due is removed within a round.
    private var pause: Milliseconds {
        max(1, min(Self.longestRound, max(1_000, keepFor / 10)) / Milliseconds(shard.partitions.count))
    }

    func interrupt() { walk.interrupt() }

    func start() {
        walk.interrupt()
        if shard.place.number == 0, !isBusy { wait(pause) }
    }

    private func wait(_ time: Milliseconds) {
        shard.deadlines.setOnly(deadline, at: shard.clock.now + time)
    }

    private func step() async {
        guard shard.link.isLive, !isBusy else { return }
        isBusy = true
        let isWalking = await walk.step()
        let hasMore = await expire(shard.partitions.keys(partition))
        isBusy = false
        steps += 1
        if !hasMore || steps == Self.mostSteps {
            partition = (partition + 1) % shard.partitions.count
            steps = 0
        }
        // If the shard is not live, the next resynchronisation starts this again.
        if shard.link.isLive { wait(isWalking || hasMore ? min(Self.haste, pause) : pause) }
    }

    // MARK: What is due

    /// - Returns: whether there may be more.
    private func expire(_ keys: PartitionKeys) async -> Bool {
        let limit = String(shard.clock.redisNow - keepFor)
        let found = try? await shard.command([
            "ZRANGEBYSCORE", keys.aging, "-inf", limit, "LIMIT", "0", String(Self.mostConversations),
        ]).array?.compactMap(\.string)
        var hasMore = found?.count == Self.mostConversations
        await shard.tasks.each(found ?? [], window: Self.window) { [self] name in
            if await expire(name, keys) { hasMore = true }
        }
        return hasMore
    }

    /// - Returns: whether more of its messages must be removed.
    private func expire(_ name: String, _ keys: PartitionKeys) async -> Bool {
        guard let id = ConversationID(name) else {
            _ = try? await shard.command(["ZREM", keys.aging, name])
            return false
        }
        let call = ScriptCall(
            .expireMessages, in: keys, keys.written(id),
            ["conversation": id, "keepFor": keepFor, "most": Self.mostMessages])
        do throws(RedisFailure) {
            let reply = try await shard.reply(to: call)
            expired.value += Int(reply[0].int ?? 0)
            return reply[1].string == "1"
        } catch  where error.isLasting {
            // Its time is set to that of a new conversation, so it does not delay others.
            shard.recordDamage("conversation", of: id)
            _ = try? await shard.command(["ZADD", keys.aging, "XX", String(shard.clock.redisNow), name])
            return false
        } catch {
            return false
        }
    }
}
