import PresenceProtocol
import Redis

/// The lease, which is renewed together with a canary through the subscription. Expired leases are swept.
extension ShardMembership {
    package func renew() {
        nextRenewal = shard.clock.now + shard.configuration.lease.renewal
        guard lanesUp.contains(.lease), !incarnation.isEmpty, !needsIncarnation else { return }
        renewalNumber += 1
        let number = renewalNumber
        let sentAt = shard.clock.now
        let renewing = incarnation
        // The oldest renewal shows how long Redis has been silent, so it is kept.
        if renewals.count >= 100 { renewals.remove(at: 1) }
        renewals.append(Renewal(number: number, sentAt: sentAt))
        runRenewal(of: renewing, entering: false) { [self] result in
            // If Redis rejects the renewal for a moment, the next successful one makes up for it.
            guard renewing == incarnation, case .success(let value) = result else { return }
            guard !Self.isGone(result) else { return noticeFencing() }
            renewed(sentAt: sentAt, answer: value)
            renewalAnswered = max(renewalAnswered, number)
            if let index = renewals.firstIndex(where: { $0.number == number }) { renewals[index].isAnswered = true }
            completeRenewals()
        }
        shard.store.command(["PUBLISH", canary, String(number)], lane: .lease) { _ in }
    }

    func runRenewal(of incarnation: String, entering: Bool, reply: @escaping StoreReply) {
        shard.run(
            ScriptCall(
                .renew, ["leases": shard.partitions.space.leases],
                [
                    "incarnation": incarnation, "lease": shard.configuration.lease.duration, "enter": entering,
                    "age": shard.clock.now - started, "grace": grace,
                    "sent": shard.clock.redisOffset == nil ? nil : shard.clock.redisNow,
                    "interests": shard.interests == nil ? "" : "i", "alone": isAlone,
                ]), lane: .lease, reply: reply)
    }

    package func renewed(sentAt: Milliseconds, answer: RedisValue) {
        lastRenewal = max(lastRenewal, sentAt)
        if let words = answer.array, words.count > 1, let time = words[1].int {
            shard.clock.learn(redisTime: time, sentAt: sentAt)
            ceiling.learn(time, at: shard.clock.now)
        }
    }

    func sweep() {
        let lease = shard.configuration.lease
        nextSweep = shard.clock.now + lease.sweep
        let late = max((lease.duration - lease.renewal) / 2, 2 * lease.sweep)
        let call = ScriptCall(
            .sweep, ["leases": shard.partitions.space.leases],
            [
                "interval": lease.sweep * 7 / 10, "late": late, "lease": lease.duration, "claim": lease.duration,
                "grace": grace, "incarnation": incarnation,
            ])
        shard.run(call, lane: .lease) { [self] result in
            guard case .success(let value) = result else { return }
            let words = ScriptReply(value).rest.compactMap(\.string)
            for index in stride(from: 0, to: words.count - 1, by: 2) {
                if words[index] == incarnation {
                    fence("the lease has run out")
                } else {
                    shard.reaper.reap(words[index], renewedAt: Timestamp(words[index + 1]) ?? 0)
                }
            }
        }
    }

    /// In a drain: renews the lease once more; the sessions linger until it expires.
    func renewOnceMore(done: @escaping () -> Void) {
        guard isLive else { return done() }
        runRenewal(of: incarnation, entering: false) { _ in done() }
    }
}
