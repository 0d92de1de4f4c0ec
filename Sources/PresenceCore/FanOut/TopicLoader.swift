import PresenceProtocol
import Redis

/// Reads watched topics from Redis: for the first request, and again after every break.
///
/// There is no gap, because events are subscribed to before anything is read (with interests, the subject's channel): a
/// change is either in what was read or arrives as an event. The higher version wins, whichever arrives first.
package final class TopicLoader {
    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    /// The user for whom topics are read.
    private struct Reader {
        let viewer: UserID?
        /// Whether the viewer begins to watch, and does not only look once.
        let watches: Bool
        /// Is charged for long lists.
        let payer: UserID?
    }

    /// Calls `done` once all the topics can be answered from memory, or one of them could not be read.
    ///
    /// If `participant`, as far as this shard knows, may not watch a topic, the topic is read again
    /// (`TopicKind.isDoubtful`): the participant may just have been given access on another shard.
    ///
    /// The viewer's own settings limit what they see. If these have to be read first, `done` waits for them; if they
    /// cannot be read, the viewer does not get last seen.
    ///
    /// - Parameter payer: The user who is charged for long lists that have to be read; by default the requester.
    package func load(
        _ topics: [Topic], for participant: UserID? = nil, viewer: UserID? = nil, payer: UserID? = nil,
        done: @escaping (Topic.RedisOutcome) -> Void
    ) {
        // In a local variable: the property is unowned, and each access counts references.
        let shard = shard
        func isDoubtful(_ topic: Topic) -> Bool {
            guard topic.kind != .person, let participant, shard.link.isLive,
                let kind = shard.watchers.kind(of: topic)
            else { return false }
            return kind.isDoubtful(topic, for: participant)
        }
        let policies = shard.policies!
        let viewer = viewer ?? participant
        let policed = viewer.flatMap { policies[$0] == nil ? nil : $0 }
        let payer = payer ?? viewer
        let reader = Reader(viewer: viewer, watches: participant != nil, payer: payer)
        // Usually everything is in memory.
        if topics.allSatisfy({ $0.isLoaded && !policies.isFrozen($0) && !isDoubtful($0) }) {
            guard let policed else { return done(.loaded) }
            return policies.complete(policed, for: payer) { _ in done(.loaded) }
        }
        var waiting = 1
        var outcome = Topic.RedisOutcome.loaded
        func finish(_ each: Topic.RedisOutcome) {
            if each == .failed { outcome = .failed }
            waiting -= 1
            if waiting == 0 { done(outcome) }
        }
        for topic in topics where policies.isFrozen(topic) {
            waiting += 1
            policies.complete(topic.subject, for: payer, done: finish)
        }
        for topic in topics where !topic.isLoaded || isDoubtful(topic) {
            waiting += 1
            topic.waiters.append(finish)
            if !topic.isLoading { read(topic, for: reader) }
        }
        if let policed {
            waiting += 1
            policies.complete(policed, for: payer) { _ in finish(.loaded) }
        }
        finish(.loaded)
    }

    private func read(_ topic: Topic, for reader: Reader) {
        guard shard.link.isLive, !shard.isStoreFull() else { return complete(topic, .failed) }
        topic.isLoading = true
        guard let interests = shard.interests else { return readFollowed(topic, for: reader) }
        interests.whenFollowed(topic.subject) { [self] isFollowed in
            guard isFollowed, shard.link.isLive else { return finish(topic, .failed) }
            readFollowed(topic, for: reader)
        }
    }

    private func readFollowed(_ topic: Topic, for reader: Reader) {
        let round = shard.policies.round(of: topic.subject)
        query(topic, for: reader.viewer) { [self] result, glance in
            guard case .success(let value) = result else { return finish(topic, .failed) }
            // Events were missed since the request, and the reload that followed did not include this topic.
            guard round == shard.policies.round(of: topic.subject) else {
                topic.isLoading = false
                return read(topic, for: reader)
            }
            if let kind = shard.watchers.kind(of: topic) {
                kind.apply(value, of: topic, announced: topic.isLoaded)
                return finish(topic, .loaded)
            }
            let read = PersonRead(value, shard.bodyMark)
            recordDamage(in: read, of: topic)
            for (kind, version, body) in read.registers where version > topic.version(of: kind) {
                shard.watchers.set(
                    RegisterEncoder.object(version: version, body: body), kind.mark, on: topic, announced: false)
            }
            shard.link.sawVersions(read.versions, of: topic.subject)
            topic.policyRound = round
            guard finishEarly(reader, from: glance, read.policy, on: topic) else {
                return complete(topic, read.policy, for: reader.payer)
            }
        }
    }

    /// Answers a reader without the lists, where their own entries decide: a single look, and a watch by a viewer from
    /// whom the user hides. Returns whether it did.
    private func finishEarly(_ reader: Reader, from glance: Glance?, _ head: PolicyHead?, on topic: Topic) -> Bool {
        let (policies, user) = (shard.policies!, topic.subject)
        // Another request may need the lists, or a change has arrived meanwhile.
        guard let viewer = reader.viewer, let head, topic.waiters.count == 1, topic.watchers.isEmpty,
            policies[user] == nil, let policy = glance?.policy(of: user, head, for: viewer)
        else { return false }
        if reader.watches {
            guard policy.view(for: viewer) == .nothing else { return false }
            // The lists are read after the answer. Until then the policy denies access, and changes wait for it.
            topic.isLoaded = true
            policies.apply(head, of: user)
            policies.complete(user, for: reader.payer) { _ in }
        } else {
            policies.glances[user, default: [:]][viewer] = policy
        }
        topic.isLoading = false
        complete(topic, .loaded)
        return true
    }

    private func complete(_ topic: Topic, _ head: PolicyHead?, for payer: UserID?) {
        shard.policies.apply(head, of: topic.subject)
        shard.policies.complete(topic.subject, for: payer) { [self] in finish(topic, $0) }
    }

    private func finish(_ topic: Topic, _ outcome: Topic.RedisOutcome) {
        topic.isLoading = false
        if outcome == .loaded { topic.isLoaded = true }
        complete(topic, outcome)
    }

    private func complete(_ topic: Topic, _ outcome: Topic.RedisOutcome) {
        let waiters = topic.waiters
        topic.waiters = []
        waiters.forEach { $0(outcome) }
    }

    /// Reads a topic, and for a person also the viewer's entries in their lists.
    private func query(
        _ topic: Topic, for viewer: UserID?, reply: @escaping (Result<RedisValue, RedisFailure>, Glance?) -> Void
    ) {
        guard let viewer, viewer != topic.subject, shard.watchers.kind(of: topic) == nil else {
            return query(topic) { reply($0, nil) }
        }
        shard.policies.glance(at: topic.subject, for: viewer, beside: { query(topic, reply: $0) }, done: reply)
    }

    private func query(_ topic: Topic, reply: @escaping StoreReply) {
        if let kind = shard.watchers.kind(of: topic) { return kind.read(topic, reply: reply) }
        let key = shard.partitions.keys(of: topic.subject).user(topic.subject)
        shard.store.command(["HMGET", key] + PersonRead.fields, lane: .commands, reply: reply)
    }

    // MARK: After a break

    /// Reads everything watched again, or only what is in some partitions, and informs watchers of differences. `done`
    /// gets the reason if something could not be read now.
    func reload(_ partitions: Set<Int>? = nil, done: @escaping (RedisFailure?) -> Void) {
        var failure: RedisFailure?
        let topics = shard.watchers.topics.compactMap { $0 }.filter { topic in
            topic.isLoaded && partitions?.contains(shard.partitions.index(of: topic.subject)) != false
        }
        topics.forEach { $0.holds += 1 }
        BoundedConcurrency(topics, window: 256) { [self] topic, next in
            func record(_ reason: RedisFailure) {
                // A damaged record must not keep everything else stale.
                if reason.isLasting {
                    shard.log("a record cannot be read", ["reason": "\(reason)"], level: .error)
                } else {
                    failure = reason
                }
            }
            guard topic.log == nil else {
                return shard.logReader.complete(topic) { [self] reason in
                    if let reason { record(reason) }
                    shard.watchers.release(topic)
                    next()
                }
            }
            let before = (newest(.presence, topic), newest(.profile, topic))
            let policy = shard.policies[topic.subject]?.head.version ?? 0
            let round = shard.policies.round(of: topic.subject)
            query(topic) { [self] result in
                func done() {
                    shard.watchers.release(topic)
                    next()
                }
                let value: RedisValue
                switch result {
                case .success(let read): value = read
                case .failure(let reason):
                    record(reason)
                    return done()
                }
                if let kind = shard.watchers.kind(of: topic) {
                    kind.apply(value, of: topic, announced: true)
                    return done()
                }
                // The policy is applied before a change is published.
                let read = PersonRead(value, shard.bodyMark)
                recordDamage(in: read, of: topic)
                topic.policyRound = round
                shard.policies.apply(read.policy, of: topic.subject, asOf: policy)
                shard.policies.complete(topic.subject) { [self] _ in
                    let isBehind = compare(topic, read, before)
                    shard.policies.thaw(topic)
                    if isBehind { renumber(topic) }
                    done()
                }
            }
        } done: {
            done(failure)
        }
    }

    private func recordDamage(in read: PersonRead, of topic: Topic) {
        for kind in read.damaged { shard.recordDamage(kind == .presence ? "presence" : "profile", of: topic.subject) }
    }

    private func newest(_ kind: RegisterKind, _ topic: Topic) -> Int64 { shard.policies.newest(kind, of: topic) }

    /// `before`: the versions at the time of the request. Returns whether Redis has an older one.
    private func compare(_ topic: Topic, _ read: PersonRead, _ before: (Int64, Int64)) -> Bool {
        var isBehind = false
        for (kind, version, body) in read.registers {
            let held = newest(kind, topic)
            // An event that arrived after the request is newer than the reply.
            let unchanged = held == (kind == .presence ? before.0 : before.1)
            if version > held {
                let register = body.withUnsafeBytes {
                    RegisterEncoder.event(
                        kind, user: topic.subject, version: version, body: $0, at: shard.clock.redisNow)
                }
                shard.policies.announce(register, kind, on: topic, at: shard.clock.redisNow)
            } else if version < held, unchanged {
                if version == 0 {
                    let register = RegisterEncoder.unknown(kind, user: topic.subject, at: shard.clock.redisNow)
                    shard.policies.announce(register, kind, on: topic, at: shard.clock.redisNow)
                } else {
                    isBehind = true
                }
            }
        }
        shard.link.sawVersions(read.versions, of: topic.subject)
        return isBehind
    }

    /// Redis has lost changes, and now has an older state than the one that was shown. The older state is current, and
    /// needs a newer version. If Redis rejects this for now, it is retried.
    private func renumber(_ topic: Topic) {
        let keys = shard.partitions.keys(of: topic.subject)
        let call = ScriptCall(
            .renumber, in: keys, ["user": keys.user(topic.subject)],
            ["user": topic.subject, "presence": topic.first.version, "profile": topic.second.version])
        shard.run(call) { [self] result in
            guard !shard.link.noticeFencing(in: result), case .failure(let failure) = result, failure.isTransient else {
                return
            }
            shard.metrics.storeRetries += 1
            shard.deadlines.set(.renumber(user: topic.subject), at: shard.clock.now + Self.pause)
        }
    }

    private static let pause: Milliseconds = 500

    /// Retries a rejected `renumber`. After a break everything is compared anew.
    func renumberAgain(_ user: UserID) {
        guard shard.link.isLive, let topic = shard.watchers.person(user), topic.isLoaded else { return }
        renumber(topic)
    }
}

extension RegisterKind {
    package var mark: Marks { self == .presence ? .first : .second }
}

extension Topic {
    package func version(of kind: RegisterKind) -> Int64 { kind == .presence ? first.version : second.version }
}
