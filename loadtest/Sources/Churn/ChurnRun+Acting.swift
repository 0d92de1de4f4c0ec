import PresenceProtocol

/// The people's arrivals and departures.
extension ChurnRun {
    func perform(_ task: Task, _ due: Instant) {
        switch task {
        case .arrive: arrive(due)
        case .leave(let person, let visit):
            guard phase == .churning, visitors[person].visit == visit else { return }
            if case .open = visitors[person].line { return leave(person, due) }
            measurement.deferred += 1
            visitors[person].isToLeave = true
        case .comeBack(let person):
            measurement.returns += 1
            dial(person, due)
        case .beAway(let person): away.append(person)
        }
    }

    private func arrive(_ due: Instant) {
        guard due < ends else { return }
        agenda.add(.arrive, at: due + .seconds(random.exponential(mean: 1 / options.rate)))
        guard !away.isEmpty else { return measurement.skipped += 1 }
        away.swapAt(Int(random.next() % UInt64(away.count)), away.count - 1)
        let person = away.removeLast()
        measurement.arrivals += 1
        visitors[person].visit += 1
        visitors[person].came = due
        visitors[person].went = nil
        visitors[person].lost = nil
        visitors[person].isReturning = false
        visitors[person].visible = nil
        truths[person].device = Self.device(person)
        truths[person].isUnknown = false
        // Times after the run's end need not be known.
        let length = min(options.length(&random), 2 * options.duration)
        agenda.add(.leave(person, visit: visitors[person].visit), at: due + .seconds(length))
        dial(person, due)
    }

    static func device(_ person: Int) -> DeviceKind { [.phone, .desktop, .web][person % 3] }

    private func dial(_ person: Int, _ due: Instant) {
        visitors[person].dialled = due
        do {
            visitors[person].line = .opening(try engine.dial(tag: person))
            here += 1
            measurement.mostHere = max(measurement.mostHere, here)
        } catch {
            engine.stop(error)
        }
    }

    /// Ends the visit of a person whose visit has begun completely.
    func leave(_ person: Int, _ due: Instant) {
        guard case .open(let connection) = visitors[person].line else { return }
        visitors[person].line = .none
        visitors[person].isToLeave = false
        here -= 1
        if random.chance(Double(options.lost) / 100) {
            lose(person, connection, due)
        } else {
            measurement.goodbyes += 1
            visitors[person].went = due
            truths[person].device = nil
            away.append(person)
            // The two clean ways to disconnect.
            if random.chance(0.5) { engine.send(ClientMessage(.disconnect).encoded(), on: connection) }
            engine.close(connection)
        }
    }

    private func lose(_ person: Int, _ connection: ConnectionID, _ due: Instant) {
        measurement.lostLines += 1
        visitors[person].lost = .now()
        visitors[person].came = nil
        visitors[person].isReturning = random.chance(Double(options.back) / 100)
        engine.abandon(connection)
        if visitors[person].isReturning {
            agenda.add(.comeBack(person), at: .now() + Nanoseconds(Double(linger) * (0.05 + 0.45 * random.unit())))
        } else {
            truths[person].device = nil
            // Another second, because timers are coarse.
            quietNotBefore = .now() + linger + .seconds(1)
            agenda.add(.beAway(person), at: quietNotBefore)
        }
    }

    /// After connecting, a person watches all people whom they know.
    func subscribe(_ person: Int, _ connection: ConnectionID, _ limits: ConnectionLimits) {
        var batches = Batches(neighbours[person], size: limits.subscribeBatch)
        while let (places, _) = batches.next() {
            var subscribe = ClientMessage.Subscribe(users: places.map(users.user))
            for (place, user) in zip(places, subscribe.users) {
                subscribe.known[user] = visitors[person].shown[place]?.known
            }
            visitors[person].unanswered += 1
            engine.send(ClientMessage(id: 2, .subscribe(subscribe)).encoded(), on: connection)
        }
    }
}
