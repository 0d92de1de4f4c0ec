import PresenceProtocol
import Redis

/// Who may see which user on this shard: the policies, if ever set, of users who are watched or have sessions here, and
/// the consequences when one changes.
///
/// Views are decided when a watch begins and when a policy changes; never when something is written. A person's
/// watchers stand in up to three topics, one for each view (`Watchers+Audiences.swift`), and each topic's watchers get
/// the same bytes. A change of policy comes through the same channel as the changes of presence, in the order in which
/// they were made. It moves the viewers concerned before anything after it is taken in: so what was made after a block
/// reaches no blocked user, however it is delayed.
///
/// A policy with lists still to be read freezes its topic: what changes meanwhile waits, and so do requests. A lost
/// subscription freezes every changed topic until it is read again: a change of policy before it may have been lost.
package final class Policies {
    unowned let shard: ShardLogic
    private var held: [UserID: Policy] = [:]
    /// Topics whose policy is being read, by their numbers. They are held.
    var frozen: [UInt32: Frozen] = [:]
    /// A partition's number grows whenever events of it may have been missed, changes of policies among them: until Redis
    /// has been asked again who may see a person there, nothing is announced of them.
    var rounds: [Int]
    private let changes = PendingPolicyChanges()
    /// What is known of users with long lists whom somebody looks at and nobody watches, for each who does.
    var glances: [UserID: [UserID: Policy]] = [:]
    /// Those that nothing needs any more.
    private var kept = KeptPolicies()

    /// The newest registers that came meanwhile.
    struct Frozen {
        var registers: [RegisterKind: (register: Register, at: Timestamp)] = [:]
    }

    /// How long after a failed reading the lists are read again.
    private static let patience: Milliseconds = 1_000
    /// Between two readings of one user's lists, which may be a megabyte.
    private static let readingPause: Milliseconds = 500

    package init(_ shard: ShardLogic) {
        self.shard = shard
        rounds = Array(repeating: 0, count: shard.partitions.count)
    }

    package var count: Int { held.count }
    var frozenCount: Int { frozen.count }

    package subscript(_ user: UserID) -> Policy? { held.isEmpty ? nil : held[user] }

    // MARK: Deciding

    /// What somebody is shown of a person; `nil` is a backend, who sees everyone.
    ///
    /// Since when someone is away is seen mutually: by those alone who let that person see it of themselves.
    package func view(of person: UserID, for viewer: UserID?) -> Policy.View {
        guard !held.isEmpty || !glances.isEmpty, let viewer, viewer != person else { return .whole }
        let shown = (held[person] ?? glances[person]?[viewer])?.view(for: viewer) ?? .whole
        guard shown == .whole, let own = held[viewer], own.view(for: person) != .whole else { return shown }
        return .withoutLastSeen
    }

    /// The topic to watch for somebody who watches this person.
    package func topic(_ person: Topic, for viewer: UserID) -> Topic {
        // Mostly nobody has a policy.
        guard !held.isEmpty else { return person }
        switch view(of: person.subject, for: viewer) {
        case .whole: return person
        case .withoutLastSeen: return shard.watchers.limited(of: person)
        case .nothing: return shard.watchers.hidden(of: person)
        }
    }

    // MARK: What is announced

    /// A register of a person has changed: everyone gets of it what they may see.
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

    // MARK: What Redis says

    /// A policy changed.
    package func handle(_ event: StoreEvent) {
        guard let user = event.subject else { return }
        let topic = shard.watchers.person(event.subjectBytes)
        let local = shard.sessions.users[user]
        // Most shards have nothing to do with this user: they do not read further. What is kept for a moment is not followed.
        guard topic != nil || local != nil else {
            drop(user)
            return changes.settle(user, event.version)
        }
        guard let change = PolicyChange(event) else { return }
        let isKnown = topic?.isLoaded == true || local?.chosen != nil
        let policy = held[user] ?? Policy(of: user, isNew: isKnown)
        guard change.head.version > policy.head.version else { return changes.settle(user, event.version) }
        let concerned = policy.concerned(by: change)
        held[user] = policy
        policy.take(change)
        follow(policy, concerning: concerned, at: event.at)
        if let local { tellFeatures(of: local) }
        // What is answered afterwards obeys the change, so its `ok` waits for lists that have to be read.
        complete(user) { [self, version = event.version] outcome in
            if outcome == .loaded { changes.settle(user, version) } else { changes.lost(user, version) }
        }
    }

    private func tellFeatures(of user: LocalUser) {
        for feature in shard.features { feature.visibilityKnown(of: user) }
    }

    /// A user's hash was read. `asOf`: the version held when the question was asked, if an older answer is the truth all
    /// the same: Redis lost what came after it.
    package func take(_ head: PolicyHead?, of user: UserID, asOf before: Int64? = nil) {
        let policy = held[user]
        let version = policy?.head.version ?? 0
        let isNewer = (head?.version ?? 0) > version
        let wasLost = before == version && (head?.version ?? 0) < version
        // Whether it is damaged or mended, the answer may be older than an event: the lists are read, and decide.
        let differs = (head?.isDamaged ?? false) != (policy?.head.isDamaged ?? false)
        guard isNewer || wasLost || differs else { return }
        let taking = policy ?? Policy(of: user, isNew: false)
        if head?.isDamaged == true { shard.noteDamage("visibility", of: user) }
        taking.take(head ?? PolicyHead())
        held[user] = taking
        follow(taking, concerning: nil, at: shard.clock.redisNow)
        // A client just connected reads it if needed.
        if let local = shard.sessions.users[user], local.chosen != nil {
            tellFeatures(of: local)
        }
    }

    /// Calls `done` once a user's policy is all there: mostly at once. `payer` pays for lists that have to be read, by the
    /// numbers that are known before.
    func complete(_ user: UserID, for payer: UserID? = nil, done: @escaping (Topic.RedisOutcome) -> Void) {
        guard let policy = self[user], !policy.isComplete else { return done(.loaded) }
        policy.waiters.append(done)
        if let payer, !policy.isPaidFor {
            policy.isPaidFor = true
            let price = RequestPrice.listed(policy.head.contacts + policy.head.blocks)
            if price > 0 { shard.userRates.take(price, by: payer, at: shard.clock.now) }
        }
        read(policy)
    }

    func read(_ policy: Policy) {
        guard !policy.isReading else { return }
        // Somebody who changes long lists all the time makes each shard that needs them read them twice a second.
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
            // Events have overtaken the answer: it is asked again.
            let isOvertaken =
                read.head.isDamaged ? policy.head.version != asked : read.head.version < policy.head.version
            guard !isOvertaken else { return self.read(policy) }
            if !policy.isComplete {
                policy.take(read)
                if held[policy.user] === policy { follow(policy, concerning: nil, at: shard.clock.redisNow) }
            }
            tell(policy, .loaded)
        }
    }

    private func failed(_ policy: Policy) {
        tell(policy, .failed)
        // While Redis is away the resynchronisation reads it.
        guard shard.link.isLive, held[policy.user] === policy else { return }
        // What cannot be read decides against its user too: they go on hearing of others, without last seen.
        if let local = shard.sessions.users[policy.user] { rehome(local, at: shard.clock.redisNow) }
        shard.deadlines.set(.policy(policy.user), at: shard.clock.now + Self.patience)
    }

    private func tell(_ policy: Policy, _ outcome: Topic.RedisOutcome) {
        let waiters = policy.waiters
        policy.waiters = []
        waiters.forEach { $0(outcome) }
    }

    /// The lists of a policy could not be read a while ago.
    func retry(_ user: UserID) {
        if kept.isOver(user, at: shard.clock.now) {
            if isUnused(user) { drop(user) } else { kept.forget(user) }
        }
        guard let policy = held[user] else { return }
        // An event has completed it.
        guard !policy.isComplete else { return tell(policy, .loaded) }
        if shard.link.isLive { read(policy) } else { failed(policy) }
    }

    /// Redis is back: what could not be read meanwhile is.
    func resume() { held.values.filter { !$0.isComplete }.forEach(read) }

    /// Nobody is watched or here under this id any more. Long lists are kept for a moment: who comes and goes, or is looked at
    /// again and again, does not have them read each time. Whatever needs them again compares the version first (`take`).
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
        // A reading that is only planned will not be made.
        if !policy.isReading { tell(policy, .failed) }
    }

    // MARK: Changing

    /// Changes a policy in Redis. An `OK` is handed on when this shard has followed the change; `decided` is called before, as
    /// soon as Redis has answered.
    ///
    /// - Parameter most: Of the list: the most that it may have.
    package func change(
        _ user: UserID, _ settings: VisibilityChange = .init(), list: PolicyList = .none, most: Int = 0,
        _ change: ListChange = .init(), by writer: Writer? = nil, decided: @escaping () -> Void = {},
        done: @escaping StoreReply
    ) {
        let keys = shard.partitions.keys(of: user)
        let pending = changes.begin(of: user)
        let call = ScriptCall(
            .visibility, in: keys,
            ["user": keys.user(user), "list": list == .blocks ? keys.blocks(user) : keys.contacts(user)],
            [
                "user": user, "newPresence": settings.presence?.letter, "newLastSeen": settings.lastSeen?.letter,
                "list": list.rawValue, "most": most,
            ], each: change.add.map { "+" + $0.string } + change.remove.map { "-" + $0.string }, by: writer)
        shard.run(call) { [self] result in
            guard case .success(let value) = result, let words = value.array, words.first?.string == "OK",
                words.count > 1, let version = words[1].int, version > pending.seen
            else {
                changes.drop(pending)
                return done(result)
            }
            pending.wait(for: version) { done($0 ? result : .failure(.disconnected(sent: true))) }
            // Its event may never come: the resynchronisation brings the change itself.
            if !shard.link.isLive { lost() } else if version <= pending.lost { changes.lost(user, version) }
            decided()
        }
    }

    /// Sight of the truth is lost: whether a change that is stored is followed here cannot be said now.
    package func lost() {
        changes.lostAll()
        for user in kept.all where isUnused(user) { drop(user) }
    }
}
