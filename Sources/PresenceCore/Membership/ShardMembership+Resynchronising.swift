import PresenceProtocol
import Redis

/// How the shard becomes live: at its start, after a break, and after events may have been missed.
///
///     format ──▶ lease ──▶ partitions ──▶ sessions ──▶ remains of former incarnations ──▶ watched topics ──▶ a canary
///     `──────── only with a new incarnation ────────´    (otherwise a renewal, for Redis' time)
///
/// Each step belongs to an attempt; whatever makes the attempt obsolete starts the next one.
extension ShardMembership {
    func resynchroniseIfPossible() {
        guard !isResynchronising, isSubscribed, lanesUp.count == StoreLane.allCases.count else { return }
        attempt += 1
        isResynchronising = true
        lastCanary = nil
        catchingUpSince = nil
        rerouted = []
        let attempt = attempt
        round += 1
        if needsIncarnation || !hasJoined {
            needsIncarnation = false
            hasJoined = false
            checkFormat(attempt) { [self] in
                enter(attempt) { [self] in
                    hasJoined = true
                    assertSessions(attempt)
                }
            }
        } else {
            askTime(attempt) { [self] in assertSessions(attempt) }
        }
    }

    /// Only the subscription broke, or Redis was silent. Redis' clock may have been set back since the last renewal, and
    /// features derive from it which changes they missed. So the time is asked once the subscription is up, and before
    /// anything is read. (A new incarnation learns the time when it enters its lease.)
    private func askTime(_ attempt: Int, next: @escaping () -> Void) {
        let sentAt = shard.clock.now
        runRenewal(of: incarnation, entering: false) { [self] result in
            guard attempt == self.attempt else { return }
            guard !Self.isGone(result) else { return noticeFencing() }
            // Without a renewal the shard cannot become live: the next one that succeeds begins again.
            if case .failure(.server) = result, state != .starting { return isResynchronising = false }
            proceed(attempt, result, "lease") { value in
                renewed(sentAt: sentAt, answer: value)
                next()
            }
        }
    }

    /// Runs the next step unless the attempt is obsolete or the last step failed.
    func proceed(
        _ attempt: Int, _ result: Result<RedisValue, RedisFailure>, _ step: String, next: (RedisValue) -> Void
    ) {
        guard attempt == self.attempt else { return }
        switch result {
        case .success(let value): next(value)
        case .failure(let failure):
            shard.log("resynchronising failed", ["step": step, "reason": "\(failure)"], level: .warning)
            needsIncarnation = true
            lost("resynchronising failed", since: shard.clock.redisNow)
            // Reconnecting starts it again, after a pause.
            lanesUp.removeAll()
            shard.store.reconnect()
        }
    }

    /// The first server fixes the layout and the number of partitions. Interests may be turned on or off while no
    /// server runs: that is checked when the lease is entered.
    private func checkFormat(_ attempt: Int, next: @escaping () -> Void) {
        let format = shard.partitions.format
        var refusal: RedisFailure?
        shard.store.command(["SET", shard.partitions.space.format, format, "NX"], lane: .commands) { result in
            if case .failure(let failure) = result { refusal = failure }
        }
        shard.store.command(["GET", shard.partitions.space.format], lane: .commands) { [self] result in
            var result = result
            if let refusal, case .success(let value) = result, value.string == nil { result = .failure(refusal) }
            proceed(attempt, result, "format") { value in
                let space = shard.partitions.space
                let found = value.string ?? format
                foundFormat = found
                if Partitions(format: found, in: space)?.count == shard.partitions.count {
                    return checkPolicy(attempt, next: next)
                }
                guard found == "1 \(shard.partitions.count)" else {
                    return refuse(
                        "this Redis holds format and partitions \"\(found)\", but \"\(format)\" is configured")
                }
                checkEarlierFormat(attempt, next: next)
            }
        }
    }

    /// Layout 1 differs in its accounts. Without accounts, it can be read unchanged: each profile is written in the new
    /// form when it changes.
    private func checkEarlierFormat(_ attempt: Int, next: @escaping () -> Void) {
        shard.store.command(["EXISTS", shard.partitions.space.addressKey], lane: .commands) { [self] result in
            proceed(attempt, result, "format") { value in
                guard value.int == 0 else {
                    return refuse(
                        "this Redis holds accounts of format 1, which earlier versions made: this one reads format 2")
                }
                checkPolicy(attempt, next: next)
            }
        }
    }

    /// A new incarnation: first its lease, so that whatever it leaves is reaped, then its right to write everywhere.
    private func enter(_ attempt: Int, next: @escaping () -> Void) {
        let isAgain = entersAgain
        entersAgain = false
        if !isAgain {
            if !incarnation.isEmpty {
                let renewedAt = shard.clock.redisNow - (shard.clock.now - lastRenewal)
                former.append((incarnation, renewedAt))
            }
            incarnation = shard.randomName()
        }
        renewals.removeAll()
        let (sentAt, entering) = (shard.clock.now, incarnation)
        runRenewal(of: entering, entering: !isAgain) { [self] result in
            if case .failure(let failure) = result, !failure.mayHaveRun, entering == incarnation {
                // After an earlier try the incarnation may have a lease, and is kept; otherwise Redis does not know it.
                if isAgain { entersAgain = true } else { incarnation = "" }
            }
            if isAgain, Self.isGone(result), attempt == self.attempt { return enter(attempt, next: next) }
            proceed(attempt, result, "lease") { value in
                guard value.array?.first?.string != "MODE" else { return refuseMode() }
                renewed(sentAt: sentAt, answer: value)
                nextRenewal = shard.clock.now + shard.configuration.lease.renewal
                writeFormat(attempt) { [self] in join(attempt, next: next) }
            }
        }
    }

    /// Servers with and without interests would miss each other's events.
    private func refuseMode() {
        incarnation = ""
        let own = shard.interests == nil ? "off" : "on"
        let lease = shard.configuration.lease.duration / 1_000
        refuse(
            "redis.interests is \(own) here, and \(own == "on" ? "off" : "on") at other servers of this installation: stop all of "
                + "them, wait until their leases have run out (\(lease) s), and start them with one setting")
    }

    /// From now on all servers have this layout, and the same setting of interests.
    private func writeFormat(_ attempt: Int, next: @escaping () -> Void) {
        let (key, format) = (shard.partitions.space.format, shard.partitions.format)
        guard foundFormat != format else { return next() }
        shard.store.command(["SET", key, format], lane: .commands) { [self] result in
            proceed(attempt, result, "format") { _ in
                foundFormat = format
                next()
            }
        }
    }

    private func join(_ attempt: Int, next: @escaping () -> Void) {
        var failure: Result<RedisValue, RedisFailure> = .success(.null)
        BoundedConcurrency(Array(0..<shard.partitions.count), window: 64) { [self] partition, done in
            let keys = shard.partitions.keys(partition)
            let call = ScriptCall(
                .join, ["shards": keys.shards, "floor": keys.floor, "fenced": keys.fenced(incarnation)],
                ["incarnation": incarnation, "least": ceilingVersion(of: partition)], each: former.map(\.incarnation))
            shard.run(call) { [self] result in
                if case .failure = result { failure = result }
                if let floor = (try? result.get())?.array?.last?.int {
                    ceiling.learn(floor: floor, of: partition, at: shard.clock.now)
                }
                if (try? result.get())?.array?.first?.string == "DEAD" { failure = .failure(.disconnected(sent: true)) }
                done()
            }
        } done: { [self] in
            if case .failure(.server) = failure, attempt == self.attempt { entersAgain = true }
            proceed(attempt, failure, "partitions") { _ in next() }
        }
    }

    /// No version at or below this may be assigned again.
    private func ceilingVersion(of partition: Int) -> Int64 {
        let seen = seenVersions[partition]
        return shard.interests == nil ? seen : max(seen, ceiling.version(partition, at: shard.clock.now))
    }

    /// Reports and reads everything. Then the data is current if the subscription delivers all later changes: a canary
    /// must pass through it first.
    private func assertSessions(_ attempt: Int) {
        shard.tasks.run { [self] in
            guard await passes("sessions", of: attempt, { shard.sessions.assertAll(done: $0) }),
                await featuresPass(attempt, { (feature) throws(RedisFailure) in try await feature.storeAgain() }),
                await reapFormer(attempt),
                await passes("watched topics", of: attempt, { shard.loader.reload(done: $0) }),
                await featuresPass(attempt, { (feature) throws(RedisFailure) in try await feature.readAgain() })
            else { return }
            renew()
            lastCanary = renewalNumber
        }
    }

    /// Whether an attempt goes on after a step: it was neither obsolete before nor afterwards, and did not fail.
    func passes(_ step: String, of attempt: Int, _ run: (@escaping (RedisFailure?) -> Void) -> Void) async -> Bool {
        guard attempt == self.attempt else { return false }
        let failure = await shard.tasks.wait(for: run)
        return passes(step, of: attempt, failure)
    }

    /// One feature after the other; if one fails, the attempt has failed.
    func featuresPass(_ attempt: Int, _ run: (any Feature) async throws(RedisFailure) -> Void) async -> Bool {
        for feature in shard.features {
            var failure: RedisFailure?
            do throws(RedisFailure) { try await run(feature) } catch { failure = error }
            guard passes(type(of: feature).plan.name, of: attempt, failure) else { return false }
        }
        return true
    }

    private func passes(_ step: String, of attempt: Int, _ failure: RedisFailure?) -> Bool {
        var isPassed = false
        proceed(attempt, failure.map { .failure($0) } ?? .success(.null), step) { _ in isPassed = true }
        return isPassed
    }

    private func reapFormer(_ attempt: Int) async -> Bool {
        while attempt == self.attempt, let oldest = former.first {
            await shard.tasks.wait { done in
                shard.reaper.reap(oldest.incarnation, renewedAt: oldest.renewedAt) { done(()) }
            }
            if attempt == self.attempt { former.removeFirst() }
        }
        return attempt == self.attempt
    }

    func prove() {
        guard isResynchronising, let lastCanary, canaryHeard >= lastCanary, renewalAnswered >= lastCanary else {
            return
        }
        self.lastCanary = nil
        isResynchronising = false
        becomeLive()
        assertRest()
    }

    /// Sessions opened or ended meanwhile are announced now; those that Redis rejects, again with the next renewal.
    func assertRest() {
        leavesRest = false
        guard isLive, shard.sessions.hasUnasserted else { return }
        shard.sessions.assertAll { [self] failure in
            if failure != nil { leavesRest = true }
        }
    }

    /// Redis has data that this server must not touch. At the start this is final. Later it is checked again after a
    /// while, since an operator may fix it.
    func refuse(_ reason: String) {
        onRefusal(reason)
        if state != .starting { restartsAt = shard.clock.now + Self.quiet }
    }

    func restart() {
        restartsAt = nil
        isResynchronising = false
        needsIncarnation = true
        resynchroniseIfPossible()
    }
}
