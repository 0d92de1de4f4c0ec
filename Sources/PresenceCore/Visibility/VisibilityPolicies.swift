import PresenceProtocol
import Redis

/// The policies of this shard: those of users who are watched or have sessions here and have ever set one. Applies
/// their changes to watchers.
///
/// Views are decided when a watch begins and when a policy changes, never when something is written. A person's
/// watchers are in up to three topics, one for each view (`Watchers+Views.swift`), and all watchers of a topic get
/// the same bytes. Changes of policies arrive on the same channel as changes of presence, in the order in which they
/// were made. A change moves the viewers concerned before any later event is processed. So changes made after a block
/// never reach the blocked user, even if they are delayed.
///
/// A policy whose lists must be read first freezes its topic: changes and requests wait. A lost subscription freezes
/// each topic that changes afterwards until it is read again, since an earlier change of policy may have been lost.
package final class VisibilityPolicies {
    unowned let shard: ShardLogic
    private var held: [UserID: VisibilityPolicy] = [:]
    /// Topics whose policy is being read, by the topics' numbers. The topics are held.
    var frozen: [UInt32: Frozen] = [:]
    /// A partition's number grows whenever its events, changes of policies among them, may have been missed. Nothing is
    /// announced of a person there until their policy has been read again.
    var rounds: [Int]
    private let changes = PendingPolicyChanges()
    /// Policies of users with long lists who are read without being watched: for each user, one for each viewer.
    var glances: [UserID: [UserID: VisibilityPolicy]] = [:]
    /// The intents that end what a user asks others, if a feature lets users ask.
    package var asking: IntentKind?
    /// Policies that nothing needs any more.
    private var kept = KeptPolicies()

    /// The newest registers that arrived while the topic was frozen.
    struct Frozen {
        var registers: [RegisterKind: (register: Register, at: Timestamp)] = [:]
    }

    /// Delay before the lists are read again after a failure.
    private static let patience: Milliseconds = 1_000
    /// Minimum interval between two reads of one user's lists, which may be a megabyte.
    private static let readingPause: Milliseconds = 500

    package init(_ shard: ShardLogic) {
        self.shard = shard
        rounds = Array(repeating: 0, count: shard.partitions.count)
    }

    package var count: Int { held.count }
    var frozenCount: Int { frozen.count }

    package subscript(_ user: UserID) -> VisibilityPolicy? { held.isEmpty ? nil : held[user] }

    // MARK: Deciding

    /// The view of a person for a viewer; `nil` is a backend, which sees everyone.
    ///
    /// Last seen is mutual: a viewer may see a person's only if that person may see the viewer's.
    package func view(of person: UserID, for viewer: UserID?) -> VisibilityPolicy.View {
        guard !held.isEmpty || !glances.isEmpty, let viewer, viewer != person else { return .whole }
        let shown = (held[person] ?? glances[person]?[viewer])?.view(for: viewer) ?? .whole
        guard shown == .whole, let own = held[viewer], own.view(for: person) != .whole else { return shown }
        return .withoutLastSeen
    }

    /// The topic of this person that the viewer has to watch.
    package func topic(_ person: Topic, for viewer: UserID) -> Topic {
        // Usually there are no policies.
        guard !held.isEmpty else { return person }
        switch view(of: person.subject, for: viewer) {
        case .whole: return person
        case .withoutLastSeen: return shard.watchers.limited(of: person)
        case .nothing: return shard.watchers.hidden(of: person)
        }
    }

    // MARK: Announcing

    /// A register of a person has changed: sends it to each watcher according to their view.
    package func announce(_ register: Register, _ kind: RegisterKind, on person: Topic, at: Timestamp) {
        if person.isLoaded, person.policyRound != round(of: person.subject) { freeze(person) }
        if !frozen.isEmpty, frozen[person.index] != nil {
            let newest = frozen[person.index]!.registers[kind]?.register.version ?? -1
            if register.version == 0 || register.version > newest {
                frozen[person.index]!.registers[kind] = (register, at)
            }
            return
        }
        shard.watchers.set(register, kind.mark, on: person, announced: true)
        if let limited = person.limited {
            shard.watchers.setLimited(register, kind, on: limited, at: at)
        }
    }

    // MARK: Reports of Redis

    /// A policy changed.
    package func handle(_ event: StoreEvent) {
        guard let user = event.subject else { return }
        let topic = shard.watchers.person(event.subjectBytes)
        let local = shard.sessions.users[user]
        // Most shards have nothing to do with this user and read no further. A cached policy is dropped instead of updated.
        guard topic != nil || local != nil else {
            drop(user)
            return changes.complete(user, event.version)
        }
        guard let change = PolicyChange(event) else { return }
        let isKnown = topic?.isLoaded == true || local?.chosen != nil
        let policy = held[user] ?? VisibilityPolicy(of: user, isNew: isKnown)
        guard change.head.version > policy.head.version else { return changes.complete(user, event.version) }
        let concerned = policy.concerned(by: change)
        held[user] = policy
        policy.apply(change)
        apply(policy, concerning: concerned, at: event.at)
        if let local { notifyFeatures(of: local) }
        // Replies after the `ok` must obey the change, so the `ok` waits for lists that have to be read.
        complete(user) { [self, version = event.version] outcome in
            if outcome == .loaded { changes.complete(user, version) } else { changes.lost(user, version) }
        }
    }

    private func notifyFeatures(of user: LocalUser) {
        for react in shard.registry.visibilityKnown { react(user) }
    }

    /// Applies the policy from a user's hash. `asOf`: the version at the time of the request. If that is still the
    /// version here, an older reply is correct: Redis lost the later changes.
    package func apply(_ head: PolicyHead?, of user: UserID, asOf before: Int64? = nil) {
        let policy = held[user]
        let version = policy?.head.version ?? 0
        let isNewer = (head?.version ?? 0) > version
        let wasLost = before == version && (head?.version ?? 0) < version
        // The reply may be older than the event that damaged or repaired the field: the lists are read, and decide.
        let differs = (head?.isDamaged ?? false) != (policy?.head.isDamaged ?? false)
        guard isNewer || wasLost || differs else { return }
        let taking = policy ?? VisibilityPolicy(of: user, isNew: false)
        if head?.isDamaged == true { shard.recordDamage("visibility", of: user) }
        taking.apply(head ?? PolicyHead())
        held[user] = taking
        apply(taking, concerning: nil, at: shard.clock.redisNow)
        // A client that has just connected reads it if needed.
        if let local = shard.sessions.users[user], local.chosen != nil {
            notifyFeatures(of: local)
        }
    }

    /// Calls `done` once a user's policy is complete: usually at once. `payer` is charged for lists that have to be
    /// read, by the lengths known before the read.
    func complete(_ user: UserID, for payer: UserID? = nil, done: @escaping (Topic.RedisOutcome) -> Void) {
        guard let policy = self[user], !policy.isComplete else { return done(.loaded) }
        policy.waiters.append(done)
        if let payer, !policy.isPaidFor {
            policy.isPaidFor = true
            let price = RequestPrice.listed(policy.head.contacts + policy.head.blocks)
            if price > 0 { shard.userRates.consume(price, by: payer, at: shard.clock.now) }
        }
        read(policy)
    }

    func read(_ policy: VisibilityPolicy) {
        guard !policy.isReading else { return }
        // If a user keeps changing long lists, each shard that needs them reads them at most twice a second.
        let next = policy.lastReading.map { $0 + Self.readingPause } ?? .min
        if shard.clock.now < next, shard.link.isLive {
            return shard.deadlines.set(.policy(policy.user), at: next)
        }
        policy.isReading = true
        policy.lastReading = shard.clock.now
        let asked = policy.head.version
        read(policy.user, all: false) { [self] result in
            policy.isReading = false
            policy.isPaidFor = false
            if case .success(let value) = result, PolicyReading.isChanged(value) { return self.read(policy) }
            guard case .success(let value) = result, let read = PolicyRead(value) else { return failed(policy) }
            // Newer events have arrived: read again.
            let isOvertaken =
                read.head.isDamaged ? policy.head.version != asked : read.head.version < policy.head.version
            guard !isOvertaken else { return self.read(policy) }
            if !policy.isComplete {
                policy.apply(read)
                if held[policy.user] === policy { apply(policy, concerning: nil, at: shard.clock.redisNow) }
            }
            complete(policy, .loaded)
        }
    }

    private func failed(_ policy: VisibilityPolicy) {
        complete(policy, .failed)
        // While Redis is unreachable, nothing is retried: the resynchronisation reads the policy.
        guard shard.link.isLive, held[policy.user] === policy else { return }
        // Unreadable lists limit their user too: they continue to receive changes of others, without last seen.
        if let local = shard.sessions.users[policy.user] { rehome(local, at: shard.clock.redisNow) }
        shard.deadlines.set(.policy(policy.user), at: shard.clock.now + Self.patience)
    }

    private func complete(_ policy: VisibilityPolicy, _ outcome: Topic.RedisOutcome) {
        let waiters = policy.waiters
        policy.waiters = []
        waiters.forEach { $0(outcome) }
    }

    /// Reads the lists again after a failure, or ends the caching of a policy.
    func retry(_ user: UserID) {
        if kept.isOver(user, at: shard.clock.now) {
            if isUnused(user) { drop(user) } else { kept.forget(user) }
        }
        guard let policy = held[user] else { return }
        // An event has completed the policy meanwhile.
        guard !policy.isComplete else { return complete(policy, .loaded) }
        if shard.link.isLive { read(policy) } else { failed(policy) }
    }

    /// Redis is back: reads incomplete policies.
    func resume() { held.values.filter { !$0.isComplete }.forEach(read) }

    /// Called when a user has neither a topic nor sessions here any more. Long lists are cached for a moment, so that
    /// they are not read again each time a user reconnects or is looked up. Before they are used again, the version is
    /// compared (`apply`).
    func forgetIfUnused(_ user: UserID) {
        if !glances.isEmpty { glances[user] = nil }
        guard !held.isEmpty, let policy = held[user], isUnused(user) else { return }
        guard policy.isComplete, kept.keep(user, listed: policy.listed, at: shard.clock.now) else { return drop(user) }
        shard.deadlines.set(.policy(user), at: shard.clock.now + KeptPolicies.duration)
        for oldest in kept.excess() where isUnused(oldest) { drop(oldest) }
    }

    private func isUnused(_ user: UserID) -> Bool {
        shard.watchers.person(user) == nil && shard.sessions.users[user] == nil
    }

    private func drop(_ user: UserID) {
        kept.forget(user)
        guard let policy = held.removeValue(forKey: user) else { return }
        // A planned read will not take place.
        if !policy.isReading { complete(policy, .failed) }
    }

    // MARK: Changing

    /// Changes a policy in Redis. An `OK` is passed on once this shard has applied the change; `decided` is called
    /// before, as soon as Redis has replied.
    ///
    /// - Parameter most: The maximal length of the list.
    package func change(
        _ user: UserID, _ settings: VisibilityChange = .init(), list: PolicyList = .none, most: Int = 0,
        _ change: ListChange = .init(), by writer: Writer? = nil, decided: @escaping () -> Void = {},
        done: @escaping StoreReply
    ) {
        let keys = shard.partitions.keys(of: user)
        let pending = changes.begin(of: user)
        let call = ScriptCall(
            .visibility, in: keys,
            [
                "user": keys.user(user), "list": list == .blocks ? keys.blocks(user) : keys.contacts(user),
                "unfinished": keys.unfinished, "asked": keys.asked(user),
            ],
            [
                "user": user, "newPresence": settings.presence?.letter, "newLastSeen": settings.lastSeen?.letter,
                "newFindable": settings.findable?.letter, "newFrom": settings.conversationsFrom?.letter,
                "list": list.rawValue, "most": most, "asking": asking.map { Intent($0, user).member },
            ], each: change.add.map { "+" + $0.string } + change.remove.map { "-" + $0.string }, by: writer)
        shard.run(call) { [self] result in
            guard case .success(let value) = result, let words = value.array, words.first?.string == "OK",
                words.count > 1, let version = words[1].int, version > pending.seen
            else {
                changes.drop(pending)
                return done(result)
            }
            pending.wait(for: version) { done($0 ? result : .failure(.disconnected(sent: true))) }
            // Its event may never arrive: the resynchronisation brings the change itself.
            if !shard.link.isLive { lost() } else if version <= pending.lost { changes.lost(user, version) }
            decided()
        }
    }

    /// Redis is lost: whether a stored change is applied here is unknown.
    package func lost() {
        changes.lostAll()
        for user in kept.all where isUnused(user) { drop(user) }
    }
}
