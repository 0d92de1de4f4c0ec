import PresenceCore
import PresenceProtocol
import Redis

/// The beginning and the end of a server's time as the courier, and the events that an earlier courier has leased.
extension DeliveryQueue {
    /// Rows in which leases of an earlier server are looked for.
    private static let mostLeft = 2_000

    /// This server is the courier. Comes again now and then: rows that a stepped clock has hidden from the looks are found.
    func start() {
        isOn = true
        looks.restart()
        wake()
    }

    /// It is not any more. Events that are not being sent are given back, if Redis can be reached; otherwise their leases end.
    func stop() {
        isOn = false
        (waiting, isOff, rest, left) = (0, false, ReceiverRest(), nil)
        looks.restart()
        for taken in held.takeWaiting() { giveBack(taken) }
        wake()
    }

    func forgetOutcomes() {
        held.remove(unsettled)
        unsettled = []
    }

    func isDue() {
        guard shard.clock.now >= scheduled else { return }
        scheduled = .max
        wake()
    }

    func schedule(after wait: Milliseconds) {
        let time = shard.clock.now + max(wait, 10)
        guard isOn, time < scheduled else { return }
        scheduled = time
        shard.deadlines.set(deadline, .number(place), at: time)
    }

    /// Events of an earlier server: for as long as it has them, their subjects wait.
    ///
    /// - Returns: Whether they are known.
    func findLeft() async -> Bool {
        guard left.map({ !$0.isEmpty && shard.clock.now >= leftAt }) ?? true else { return true }
        let before = left ?? [:]
        let reply: ScriptReply
        do throws(RedisFailure) {
            reply = try await run(.queueLeft, ["lease": Self.lease, "rows": Self.mostLeft], each: Array(before.keys))
        } catch {
            schedule(after: error.isLasting ? Self.pauseOfDamage : Self.retry)
            return false
        }
        guard isOn else { return false }
        var found: [String: String] = [:]
        for place in stride(from: 0, to: reply.count - 1, by: 2) {
            guard let id = reply[place].string, !held.contains(id) else { continue }
            found[id] = reply[place + 1].string
        }
        left = found
        // Their subjects may have events anywhere.
        if found.count < before.count { looks.restart() }
        guard !found.isEmpty else { return true }
        leftAt = shard.clock.now + Self.retry
        schedule(after: Self.retry)
        return true
    }

    /// - Throws: also if this server may not write any more.
    func run(
        _ script: Script, _ arguments: KeyValuePairs<StaticString, any ScriptArgument>,
        each rows: [any ScriptArgument] = []
    ) async throws(RedisFailure) -> ScriptReply {
        do throws(RedisFailure) {
            let keys = partition.queue(receiver.id)
            return try await shard.reply(to: ScriptCall(script, in: partition, keys, arguments, each: rows))
        } catch {
            if error.isLasting { shard.recordDamage("webhook", of: receiver.id) }
            throw error
        }
    }
}
