import PresenceProtocol

/// Applies policies to watchers: freezes a topic while lists are read, and moves watchers to their view.
extension VisibilityPolicies {
    /// Moves all users to the view that the policy gives them, or only those concerned by a change.
    func apply(_ policy: VisibilityPolicy, concerning users: [UserID]?, at: Timestamp) {
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

    func freeze(_ person: Topic) {
        guard frozen[person.index] == nil else { return }
        person.holds += 1
        frozen[person.index] = Frozen()
    }

    /// The version of a topic's newest register here, announced or not.
    func newest(_ kind: RegisterKind, of topic: Topic) -> Int64 {
        (frozen.isEmpty ? nil : frozen[topic.index]?.registers[kind]?.register.version) ?? topic.version(of: kind)
    }

    func isFrozen(_ topic: Topic) -> Bool { !frozen.isEmpty && frozen[topic.index] != nil }

    /// The number of the person's partition (`rounds`). The caller notes the number before it asks Redis, and sets it
    /// in the topic (`policyRound`) with the reply.
    func round(of person: UserID) -> Int { rounds[shard.partitions.index(of: person)] }

    /// Events of all partitions, or of these, may have been missed.
    func doubt() { doubt(rounds.indices) }
    func doubt(_ partitions: some Sequence<Int>) { for partition in partitions { rounds[partition] += 1 } }

    /// A person's policy is known and applied: announces the changes that waited for it.
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

    func rehomeAll(on person: Topic, at: Timestamp) {
        person.holds += 1
        for part in [person, person.limited, person.hidden].compactMap({ $0 }) {
            // From the end, so that a watcher that moves into a gap was processed before.
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

    func rehome(_ users: [UserID], on person: Topic, at: Timestamp) {
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

    /// The user's own policy also limits what they see of others.
    func rehome(_ local: LocalUser, at: Timestamp) {
        for case let connection? in local.sessions.map(\.connection) {
            shard.watchers.moveAll(of: connection, at: at) { part in
                let person = part.whole ?? part
                return frozen[person.index] == nil ? topic(person, for: local.id) : part
            }
        }
        withhold(false, from: local)
    }

    /// Withholds events from a user's connections until their own lists are read, since these decide what others show them.
    func withhold(_ isWithheld: Bool, from local: LocalUser?) {
        for case let connection? in local?.sessions.map(\.connection) ?? [] {
            shard.watchers.set(.withheld, isWithheld, on: connection)
        }
    }
}
