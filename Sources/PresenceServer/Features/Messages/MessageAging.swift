import PresenceCore
import PresenceProtocol
import Redis

/// Removes messages that are older than `messages.keepFor`, also where nobody writes.
///
/// Each partition has a set of its conversations by when their oldest message was sent (`aging`). A send enters those that are
/// not in it. The first shard of each server looks into one partition after the other, and removes what is due there in
/// bounded steps. Each step compares times by Redis' clock, so servers may do the same at once, and a setting that was
/// shortened holds for what there is.
///
/// Conversations that had messages before the setting was on are not in the set: `AgingWalk` enters them as due, and the next
/// step finds when they are.
final class MessageAging {
    /// In which all partitions are looked into if nothing is due: what is older is promised to go within a minute.
    private static let longestRound: Milliseconds = 50_000
    /// Between two steps while there is more to do in a partition.
    private static let haste: Milliseconds = 10
    /// After so many the next partition has its turn.
    private static let mostSteps = 100
    /// Conversations of one step, messages of each, and how many of them go at a time.
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

    /// Between two steps while nothing is left to do: everything that is due has gone a round later.
    private var pause: Milliseconds {
        max(1, min(Self.longestRound, max(1_000, keepFor / 10)) / Milliseconds(shard.partitions.count))
    }

    func resynchronise(_ step: ResynchronisationStep) {
        walk.interrupt()
        if step == .live, shard.place.number == 0, !isBusy { wait(pause) }
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
        // If it is not live, it begins again once it is.
        if shard.link.isLive { wait(isWalking || hasMore ? min(Self.haste, pause) : pause) }
    }

    // MARK: What is due

    /// - Returns: Whether there may be more.
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

    /// - Returns: Whether more of its messages are to go.
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
            // It is looked at again as if it were new, and holds up no others.
            shard.noteDamage("conversation", of: id)
            _ = try? await shard.command(["ZADD", keys.aging, "XX", String(shard.clock.redisNow), name])
            return false
        } catch {
            return false
        }
    }
}
