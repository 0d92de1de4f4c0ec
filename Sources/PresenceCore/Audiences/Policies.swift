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
    private unowned let shard: ShardLogic
    private var held: [UserID: Policy] = [:]
    /// Topics whose policy is being read, by their numbers. They are held.
    private var frozen: [UInt32: Frozen] = [:]
    /// A partition's number grows whenever events of it may have been missed, changes of policies among them: until Redis
    /// has been asked again who may see a person there, nothing is announced of them.
    private var rounds: [Int]
    private var changes: [PendingChange] = []

    /// The newest registers that came meanwhile.
    private struct Frozen {
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
        guard !held.isEmpty, let viewer, viewer != person else { return .whole }
        let shown = held[person]?.view(for: viewer) ?? .whole
        guard shown == .whole, let own = held[viewer], own.view(for: person) != .whole else { return shown }
        return .withoutLastSeen
    }

    /// The topic to watch for somebody who watches this person.
    package func topic(_ person: Topic, for viewer: UserID) -> Topic {
        switch view(of: person.subject, for: viewer) {
        case .whole: person
        case .withoutLastSeen: shard.watchers.limited(of: person)
        case .nothing: shard.watchers.hidden(of: person)
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
        // Most shards have nothing to do with this user: they do not read further.
        guard topic != nil || local != nil else { return settle(user, event.version) }
        guard let change = PolicyChange(event) else { return }
        let isKnown = topic?.isLoaded == true || local?.chosen != nil
        let policy = held[user] ?? Policy(of: user, isNew: isKnown)
        guard change.head.version > policy.head.version else { return settle(user, event.version) }
        let concerned = policy.concerned(by: change)
        held[user] = policy
        policy.take(change)
        follow(policy, concerning: concerned, at: event.at)
        if let local { tellFeatures(of: local) }
        // What is answered afterwards obeys the change, so its `ok` waits for lists that have to be read.
        complete(user) { [self, version = event.version] outcome in
            if outcome == .loaded { settle(user, version) } else { lost(user, version) }
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

    /// Calls `done` once a user's policy is all there: mostly at once.
    func complete(_ user: UserID, done: @escaping (Topic.RedisOutcome) -> Void) {
        guard let policy = self[user], !policy.isComplete else { return done(.loaded) }
        policy.waiters.append(done)
        read(policy)
    }

    private func read(_ policy: Policy) {
        guard !policy.isReading else { return }
        // Somebody who changes long lists all the time makes each shard that needs them read them twice a second.
        let next = policy.lastReading.map { $0 + Self.readingPause } ?? .min
        if shard.clock.now < next, shard.link.isLive {
            return shard.deadlines.set(.policy(policy.user), at: next)
        }
        policy.isReading = true
        policy.lastReading = shard.clock.now
        let asked = policy.head.version
        let keys = shard.partitions.keys(of: policy.user)
        shard.store.run(
            .policy, keys: [keys.user(policy.user), keys.contacts(policy.user), keys.blocks(policy.user)],
            arguments: ["0"], lane: .commands
        ) { [self] result in
            policy.isReading = false
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
        guard let policy = held[user], !policy.isComplete else { return }
        if shard.link.isLive { read(policy) } else { failed(policy) }
    }

    /// Redis is back: what could not be read meanwhile is.
    func resume() { held.values.filter { !$0.isComplete }.forEach(read) }

    /// Nobody is watched or here under this id any more.
    func forgetIfUnused(_ user: UserID) {
        guard !held.isEmpty, let policy = held[user], shard.watchers.person(user) == nil,
            shard.sessions.users[user] == nil
        else { return }
        held[user] = nil
        // A reading that is only planned will not be made.
        if !policy.isReading { tell(policy, .failed) }
    }

    // MARK: Consequences

    /// Moves all users to where the policy wants them, or only those a change concerns.
    private func follow(_ policy: Policy, concerning users: [UserID]?, at: Timestamp) {
        guard policy.isComplete else {
            if let person = shard.watchers.person(policy.user), person.isLoaded { freeze(person) }
            withhold(true, from: shard.sessions.users[policy.user])
            return read(policy)
        }
        if let person = shard.watchers.person(policy.user), person.isLoaded {
            let wasFrozen = frozen[person.index] != nil
            shard.watchers.refreshUnknown(person, at: at)
            if let users, !wasFrozen { rehome(users, on: person, at: at) } else { rehomeAll(on: person, at: at) }
            thaw(person)
        }
        if let local = shard.sessions.users[policy.user] { rehome(local, at: at) }
    }

    private func freeze(_ person: Topic) {
        guard frozen[person.index] == nil else { return }
        person.holds += 1
        frozen[person.index] = Frozen()
    }

    /// The version of the newest register that is held of a topic, announced or not.
    func newest(_ kind: RegisterKind, of topic: Topic) -> Int64 {
        (frozen.isEmpty ? nil : frozen[topic.index]?.registers[kind]?.register.version) ?? topic.version(of: kind)
    }

    func isFrozen(_ topic: Topic) -> Bool { !frozen.isEmpty && frozen[topic.index] != nil }

    /// To be noted before Redis is asked, and set in the topic (`policyRound`) with its answer.
    func round(of person: UserID) -> Int { rounds[shard.partitions.index(of: person)] }

    /// Events may have been missed, of all partitions or of these.
    func doubt() { doubt(rounds.indices) }
    func doubt(_ partitions: some Sequence<Int>) { for partition in partitions { rounds[partition] += 1 } }

    /// Who may see a person is known and followed: what waited for that is announced.
    func thaw(_ person: Topic) {
        guard person.policyRound == round(of: person.subject), self[person.subject]?.isComplete ?? true,
            let waiting = frozen.removeValue(forKey: person.index)
        else { return }
        let registers = waiting.registers.sorted { $0.value.register.version < $1.value.register.version }
        for (kind, entry) in registers where entry.register.version > 0 || person.version(of: kind) > 0 {
            announce(entry.register, kind, on: person, at: entry.at)
        }
        shard.watchers.release(person)
    }

    private func rehomeAll(on person: Topic, at: Timestamp) {
        person.holds += 1
        for part in [person, person.limited, person.hidden].compactMap({ $0 }) {
            // From the end: the watcher filling a gap has been looked at.
            var place = part.watchers.count
            while place > 0 {
                place -= 1
                let watch = part.watchers[place]
                guard let user = shard.watchers.connections[Int(watch.connection)]?.session?.user.id else { continue }
                let home = topic(person, for: user)
                guard home !== part else { continue }
                shard.watchers.move(Int(watch.position), of: Int(watch.connection), to: home, at: at)
            }
        }
        shard.watchers.release(person)
    }

    private func rehome(_ users: [UserID], on person: Topic, at: Timestamp) {
        person.holds += 1
        for user in users {
            for case let connection? in shard.sessions.users[user]?.sessions.map(\.connection) ?? [] {
                guard let position = shard.watchers.place(of: person, in: connection) else { continue }
                let home = topic(person, for: user)
                shard.watchers.move(position, of: connection.index, to: home, at: at)
            }
        }
        shard.watchers.release(person)
    }

    /// What a user shows of themselves decides what they see of others.
    private func rehome(_ local: LocalUser, at: Timestamp) {
        for case let connection? in local.sessions.map(\.connection) {
            shard.watchers.moveAll(of: connection, at: at) { part in
                let person = part.whole ?? part
                return frozen[person.index] == nil ? topic(person, for: local.id) : part
            }
        }
        withhold(false, from: local)
    }

    /// Until a user's own lists have been read, events wait for their connections: what others show them depends on it.
    private func withhold(_ isWithheld: Bool, from local: LocalUser?) {
        for case let connection? in local?.sessions.map(\.connection) ?? [] {
            shard.watchers.setWithheld(isWithheld, connection)
        }
    }

    // MARK: Changing

    /// Changes a policy in Redis. An `OK` is handed on when this shard has followed the change.
    package func change(
        _ user: UserID, _ settings: VisibilityChange = .init(), list: PolicyList = .none,
        _ change: ListChange = .init(),
        done: @escaping StoreReply
    ) {
        let keys = shard.partitions.keys(of: user)
        let limits = shard.configuration.limits
        let pending = PendingChange(of: user)
        changes.append(pending)
        shard.store.run(
            .visibility,
            keys: [
                keys.shards, keys.floor, keys.user(user), list == .blocks ? keys.blocks(user) : keys.contacts(user),
            ],
            arguments: [
                keys.events, shard.link.incarnation, user.string, settings.presence?.letter ?? "",
                settings.lastSeen?.letter ?? "", list.rawValue,
                String(list == .blocks ? limits.blocks : limits.contacts),
            ] + change.add.map { "+" + $0.string } + change.remove.map { "-" + $0.string },
            lane: .commands
        ) { [self] result in
            guard case .success(let value) = result, let words = value.array, words.first?.string == "OK",
                words.count > 1, let version = words[1].int, version > pending.seen
            else {
                changes.removeAll { $0 === pending }
                return done(result)
            }
            pending.wait(for: version) { done($0 ? result : .failure(.disconnected(sent: true))) }
            // Its event may never come: the resynchronisation brings the change itself.
            if !shard.link.isLive { lost() } else if version <= pending.lost { lost(user, version) }
        }
    }

    private func settle(_ user: UserID, _ version: Int64) {
        guard !changes.isEmpty else { return }
        for pending in changes where pending.user == user { pending.seen = max(pending.seen, version) }
        let settled = changes.filter { $0.isSettled }
        guard !settled.isEmpty else { return }
        changes.removeAll { $0.isSettled }
        settled.forEach { $0.done?(true) }
    }

    /// The lists of a user could not be read: whether a change of theirs is followed here cannot be said.
    private func lost(_ user: UserID, _ version: Int64) {
        for pending in changes where pending.user == user { pending.lost = max(pending.lost, version) }
        let waiting = changes.filter { $0.user == user && $0.done != nil }
        changes.removeAll { pending in waiting.contains { $0 === pending } }
        waiting.forEach { $0.done?(false) }
    }

    /// Sight of the truth is lost: whether a change that is stored is followed here cannot be said now.
    package func lost() {
        let waiting = changes.filter { $0.done != nil }
        changes.removeAll { $0.done != nil }
        waiting.forEach { $0.done?(false) }
    }

    /// A change whose answer waits until its event has come.
    private final class PendingChange {
        let user: UserID
        var seen: Int64 = 0
        /// The newest that came and could not be followed.
        var lost: Int64 = 0
        private var version: Int64 = .max
        private(set) var done: ((Bool) -> Void)?

        init(of user: UserID) { self.user = user }

        var isSettled: Bool { done != nil && seen >= version }

        func wait(for version: Int64, done: @escaping (Bool) -> Void) {
            self.version = version
            self.done = done
        }
    }
}
