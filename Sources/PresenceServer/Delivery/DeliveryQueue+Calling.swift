import PresenceCore
import PresenceProtocol
import Redis

/// The calls for the events that a queue has taken.
extension DeliveryQueue {
    /// Sends an event, then those behind it of the same subject.
    func begin(_ taken: TakenEvent) {
        shard.tasks.run { [self, shard] in
            var next: TakenEvent? = taken
            while let taken = next {
                await deliver(taken, on: shard)
                next = held.next(after: taken)
            }
            if held.calls == 0 { rest.isIdle() }
            wake()
        }
    }

    private func deliver(_ taken: TakenEvent, on shard: ShardLogic) async {
        let (event, began) = (taken.event, shard.clock.now)
        // With a receiver so slow, the leases of a subject's events would end before they are sent.
        guard isOn, began - taken.takenAt < Self.longest, began >= rest.until, !held.isReturning(event.subject) else {
            return giveBack(taken)
        }
        let current: QueuedEvent?
        do throws(RedisFailure) {
            current = try await receiver.current(event)
        } catch {
            return putOff(taken)
        }
        guard let current else { return await giveUp(taken, nil) }
        let outcome = await send(current, shard.clock.redisNow)
        await record(outcome, of: taken, since: began)
        wake()
    }

    /// Its user's partition cannot be used: others of the receiver may be.
    private func putOff(_ taken: TakenEvent) {
        record(QueueSettlement(id: taken.event.id, outcome: .later, when: Self.pauseOfPartition))
    }

    private func giveUp(_ taken: TakenEvent, _ reason: String?, gone time: Timestamp? = nil) async {
        guard await receiver.giveUp([taken.event], gone: time) else { return putOff(taken) }
        record(QueueSettlement(id: taken.event.id, outcome: .givenUp, reason: reason ?? ""))
    }

    private func record(_ outcome: DeliveryOutcome?, of taken: TakenEvent, since began: Milliseconds) async {
        let (event, now) = (taken.event, shard.clock.now)
        switch outcome {
        case .taken?:
            counters.sent.value += 1
            rest.isAnswered(at: now)
            record(QueueSettlement(id: event.id, outcome: .taken))
        case .refused(let reason)?:
            counters.givenUp.value += 1
            rest.isAnswered(at: now)
            await giveUp(taken, reason)
        case .gone(let time)?:
            rest.isAnswered(at: now)
            await giveUp(taken, nil, gone: time)
        case .unwanted?:
            rest.hasFailed(event.subject, since: began, asked: 0, isOfAll: receiver.pausesForAll, at: now)
            record(QueueSettlement(id: event.id, outcome: .unwanted, reason: "status 410"))
        case .failed(let reason, let asked)?:
            counters.failed.value += 1
            if receiver.rests {
                rest.hasFailed(event.subject, since: began, asked: asked, isOfAll: receiver.pausesForAll, at: now)
            }
            let spread = Double.random(in: -1...1, using: &shard.random)
            guard let pause = receiver.pause(after: event.tries + 1, asked: asked, spread: spread) else {
                counters.givenUp.value += 1
                return await giveUp(taken, reason)
            }
            record(QueueSettlement(id: event.id, outcome: .failed, when: pause, reason: reason))
        case nil:
            rest.isStuck(at: now)
            giveBack(taken)
        }
    }
}
