import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer

/// The effect of each step.
extension HistoryRun {
    func perform(_ step: Step) throws {
        switch step {
        case .wait(let duration): try wait(Milliseconds(duration))
        case .connect(let person, let place, let number, let activity, let status):
            connect(visitor(person, place), to: shard(number), Activity.allCases[activity % 3], status)
        case .close(let person, let place): close(visitor(person, place))
        case .lose(let person, let place): lose(visitor(person, place))
        case .vanish(let person, let place): vanish(visitor(person, place))
        case .move(let person, let place, let number, let pause):
            let mover = visitor(person, place)
            guard mover.client.isConnected else { return }
            lose(mover)
            comeBack(mover, to: number, after: Milliseconds(pause))
        case .activity(let person, let place, let state):
            let visitor = visitor(person, place)
            guard visitor.client.canSpeak else { return }
            visitor.activity = Activity.allCases[state % 3]
            visitor.client.send(.activity(visitor.activity))
        case .status(let person, let place, let status, let text, let clearAfter):
            choose(visitor(person, place), ChosenStatus.allCases[status % 3], "text \(text)", clearAfter)
        case .name(let person, let place, let name):
            rename(visitor(person, place), nameToAsk(visitor(person, place), "Name \(name)"))
        case .typing(let person, let place, let on):
            visitor(person, place).client.send(.typing(conversation: conversation, typing: on == 1))
        case .readSlowly(let person, let place): visitor(person, place).client.isSlow = true
        case .readAgain(let person, let place): visitor(person, place).client.readsAgain()
        case .watch(let person, let place, let whom):
            let visitor = visitor(person, place)
            guard visitor.client.canSpeak else { return }
            visitor.wanted.insert(self.person(whom).id)
            subscribe(visitor, [self.person(whom).id])
        case .unwatch(let person, let place, let whom): unwatch(visitor(person, place), self.person(whom).id)
        case .silence(let duration):
            world.redis.isSilent = true
            redisIsDown(.silence)
            try wait(Milliseconds(duration))
            redisIsUp(.silence)
            world.redis.isSilent = false
        case .restart(let pause, let data, let clock): try restart(Milliseconds(pause), data, Milliseconds(clock))
        case .remember: if isRedisUp { try remember() }
        case .jump(let clock): jump(Milliseconds(clock))
        case .refuse(let script, let times):
            refusals[Script.allCases[script % Script.allCases.count], default: 0] += times
        case .refuseAll(let why, let duration):
            refuseAll(Refusing.allCases[why % Refusing.allCases.count], for: Milliseconds(duration))
        case .rush(let person, let place, let number, let what): rush(visitor(person, place), to: shard(number), what)
        case .flash(let person, let place, let number): flash(person, place, number)
        case .disconnect(let person, let number): disconnect(self.person(person), through: shard(number))
        case .revoke(let person, let number): revoke(self.person(person), through: shard(number))
        case .blackout(let pause): try blackout(Milliseconds(pause))
        case .quiet: try quiet()
        default: performOnServers(step)
        }
    }

    private func performOnServers(_ step: Step) {
        switch step {
        case .kill(let number): kill(shard(number))
        case .start(let number): startAgain(number)
        case .stop(let number): shard(number).stop()
        case .wake(let number): wake(shard(number))
        case .roll(let number): roll(number)
        case .cutCommands(let number): shard(number).cut(.commands)
        case .cutLease(let number): shard(number).cut(.lease)
        case .cutSubscription(let number):
            deafSince[shard(number).name] = nil
            shard(number).cutSubscription()
        case .cutAll(let number):
            deafSince[shard(number).name] = nil
            shard(number).cutAll()
        case .holdCommands(let number, let duration): shard(number).hold(.commands, for: Milliseconds(duration))
        case .holdLease(let number, let duration): shard(number).hold(.lease, for: Milliseconds(duration))
        case .holdEvents(let number, let duration): shard(number).holdEvents(for: Milliseconds(duration))
        case .deafen(let number):
            shard(number).deafen()
            if deafSince[shard(number).name] == nil { deafSince[shard(number).name] = world.now }
        default: preconditionFailure("\(step) does not concern a server")
        }
    }

    // MARK: People

    func connect(_ visitor: Visitor, to shard: SimulatedShard, _ activity: Activity, _ status: Int) {
        guard !visitor.client.isConnected, !shard.isDead else { return }
        if status % 3 != 2 { visitor.person.invisibleOn = nil }
        let (device, kind) = SimulatedHistory.device(visitor.place)
        let stay = Stay(on: shard, device: device, at: world.now)
        for other in visitor.person.stays where device != nil && other.device == device {
            // The younger session replaces it; for a suspended server it is uncertain which one is younger.
            other.mayBeGone = true
            // If two connects are less than a second apart, the one that reaches Redis later may count as the younger;
            // within some ms, either may.
            let isLate = other.shard.isHeld || world.redis.isSilent
            let isClose = other.dialledAt > world.now - (isLate ? 1_050 : 10)
            if !shard.isRunning || isClose { stay.mayBeGone = true }
        }
        visitor.person.stays.append(stay)
        visitor.stay = stay
        visitor.activity = activity
        visitor.isGreeted = false
        visitor.hearsConversation = false
        visitor.watched = []
        visitor.subscribing = [:]
        visitor.unsubscribing = [:]
        visitor.writing = [:]
        visitor.rushed = []
        visitor.isLetIn = false
        if visitor.client.issuedAt == nil { visitor.client.issuedAt = world.redisNow }
        stay.issuedAt = visitor.client.issuedAt ?? 0
        visitor.presenceVersions = [:]
        visitor.profileVersions = [:]
        visitor.client.answersPings = true
        visitor.client.isSlow = false
        var change: StatusChange?
        if status > 0 {
            let chosen = ChosenStatus.allCases[status % 3]
            change = .init(status: chosen, text: .remove)
            // It is unknown whether and when it is stored.
            _ = visitor.person.statuses.begin(.init(status: chosen), at: world.now)
        }
        visitor.client.dial(shard, device: device, kind: kind, activity: activity, status: change)
        subscribe(visitor, visitor.wanted.sorted(), andConversation: history.people <= 10)
    }

    func subscribe(_ visitor: Visitor, _ users: [UserID], andConversation: Bool = false) {
        var known: [UserID: ClientMessage.KnownVersions] = [:]
        // Half of the places keep the state that they were shown on earlier connections.
        if visitor.place % 2 == 0 {
            for user in users {
                guard let presence = visitor.client.presences[user] else { continue }
                known[user] = .init(
                    presence: presence.version, profile: visitor.client.profiles[user]?.version)
            }
        }
        visitor.subscribing[visitor.client.nextRequest] = (users, andConversation)
        visitor.client.send(
            .subscribe(.init(users: users, known: known, conversations: andConversation ? [conversation] : [])))
    }

    private func unwatch(_ visitor: Visitor, _ user: UserID) {
        guard visitor.client.canSpeak else { return }
        visitor.wanted.remove(user)
        visitor.unsubscribing[visitor.client.nextRequest] = user
        visitor.client.send(.unsubscribe(users: [user], conversations: []))
    }

    func close(_ visitor: Visitor) {
        guard visitor.client.canSpeak else { return }
        visitor.stay?.mayBeGone = true
        visitor.stay?.gone(by: world.now + 1_000)
        visitor.client.close(code: 1000)
    }

    private func lose(_ visitor: Visitor) {
        guard visitor.client.isConnected else { return }
        isLost(visitor)
        visitor.client.lost()
    }

    func isLost(_ visitor: Visitor) {
        guard let stay = visitor.stay, stay.lostAt == nil else { return }
        stay.lostAt = world.now
        if stay.vanishedAt == nil { stay.gone(by: world.now + world.configuration.linger + 1_000) }
    }

    private func vanish(_ visitor: Visitor) {
        guard visitor.client.isConnected, let stay = visitor.stay, stay.vanishedAt == nil else { return }
        let settings = world.configuration
        stay.vanishedAt = world.now
        stay.gone(
            by: world.now + settings.heartbeat.interval + settings.heartbeat.timeout + settings.linger + 1_000)
        visitor.client.vanish()
    }

    func comeBack(_ visitor: Visitor, to number: Int, after pause: Milliseconds) {
        let activity = visitor.activity
        world.after(pause) { [weak self, weak visitor] in
            guard let self, let visitor, !isEnding else { return }
            // Any server that can be reached.
            for next in 0..<world.shards.count where !shard(number + next).isDead {
                return connect(visitor, to: shard(number + next), activity, 0)
            }
        }
    }

    func choose(_ visitor: Visitor, _ status: ChosenStatus, _ text: String, _ clearAfter: Int) {
        guard visitor.client.canSpeak else { return }
        let person = visitor.person
        let after = clearAfter > 0 ? Milliseconds(clearAfter) : nil
        let number = person.statuses.begin(
            .init(status: status, text: text, clearAt: after.map { world.redisNow + $0 }), at: world.now)
        let era = person.era
        person.invisibleOn = nil
        visitor.writing[visitor.client.nextRequest] = { [unowned self, unowned visitor] stored in
            guard era == person.era else { return }
            if stored { person.statuses.acknowledge(number, at: world.now) } else { person.statuses.refuse(number) }
            guard stored, status == .invisible, after == nil, person.statuses.isLast(number) else { return }
            person.invisibleOn = visitor.stay?.shard
            person.invisibleSince = world.redisNow
        }
        visitor.client.send(.status(.init(status: status, text: .set(text), clearAfter: after)))
    }

    func rename(_ visitor: Visitor, _ name: String) {
        guard visitor.client.canSpeak else { return }
        let person = visitor.person
        let number = person.names.begin(name, at: world.now)
        let era = person.era
        visitor.writing[visitor.client.nextRequest] = { [unowned self] stored in
            guard era == person.era else { return }
            if stored { person.names.acknowledge(number, at: world.now) } else { person.names.refuse(number) }
        }
        visitor.client.send(.updateProfile(.init(displayName: .set(name))))
    }

    // MARK: Servers

    func attend(to shard: SimulatedShard) {
        shard.logic.link.onLive = { [unowned self, name = shard.name] in
            doubtful.remove(name)
            // It was not, possibly for less time than passes until the next check.
            troubledAt = world.now
        }
    }

    func kill(_ shard: SimulatedShard) {
        guard !shard.isDead else { return }
        shard.die()
        died(shard)
    }

    func died(_ shard: SimulatedShard) {
        let lease = world.configuration.lease
        diedAt = world.now
        for person in people {
            for device in person.devices.values where device.stay?.shard === shard && device.stay?.lostAt == nil {
                isLost(device)
            }
            for stay in person.stays where stay.shard === shard {
                stay.gone(by: world.now + lease.duration + 2 * lease.sweep + 1_500)
            }
        }
    }

    func startAgain(_ number: Int) {
        guard shard(number).isDead else { return }
        if !world.shards.contains(where: { !$0.isDead }) { endBlackout() }
        world.replaceShard(at: number % world.shards.count)
        attend(to: shard(number))
    }

    func wake(_ shard: SimulatedShard) {
        guard shard.isStopped, !shard.isDead else { return }
        wokenAt[shard.name] = world.now
        shard.wakeUp()
    }

    private func roll(_ number: Int) {
        let shard = shard(number)
        guard shard.isRunning else { return }
        shard.drain()
        world.after(201) { [weak self] in
            guard let self, self.shard(number) === shard else { return }
            died(shard)
            startAgain(number)
        }
    }

    func reviveSomebody() {
        if !world.shards.contains(where: { !$0.isDead }) { startAgain(0) }
    }
}
