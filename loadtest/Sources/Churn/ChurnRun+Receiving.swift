import PresenceProtocol

/// The messages that people receive, and the connection that asks at the end.
extension ChurnRun {
    /// How much earlier than linger a person may be shown offline: clocks and timers are coarse.
    private static let tolerance: Nanoseconds = .milliseconds(500)

    /// The one tag without a person belongs to the connection that asks at the end.
    private func isAsker(_ tag: Int) -> Bool { tag == visitors.count }

    private func name(_ tag: Int) -> String { isAsker(tag) ? "\(users.prefix)asker" : users.user(tag).string }

    func opened(_ connection: ConnectionID, tag: Int) {
        let device = Device.only(of: name(tag), kind: isAsker(tag) ? .bot : Self.device(tag))
        let connect = ClientMessage.Connect(token: mint.token(user: name(tag)), device: device)
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        if case .refused(let why) = closing { return engine.stop(Failure(why)) }
        engine.stop(Failure("the connection of \(name(tag)) ended: \(closing)"))
    }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        lastReceived = at
        do {
            let decoded = try cache.decode(message)
            if case .error(let error) = decoded { return refuse(error, tag) }
            if isAsker(tag) { return receiveAsAsker(decoded, connection) }
            switch decoded {
            case .connected(_, let welcome): connected(tag, connection, welcome, at)
            case .subscribed(_, let people, _, let more):
                for snapshot in people {
                    guard let place = users.number(of: snapshot.user) else { continue }
                    visitors[tag].shown[place, default: Shown()].apply(snapshot)
                }
                if !more { answered(tag, connection, at) }
            case .presence(let user, let presence, _): see(user, presence, tag, at)
            default: break
            }
        } catch {
            engine.stop(Failure("the server sent something that cannot be read: \(error)"))
        }
    }

    private func refuse(_ error: ServerMessage.ErrorMessage, _ tag: Int) {
        let what = "\(error.code.rawValue): \(error.message)"
        if error.code == .unauthorized {
            return engine.stop(
                Failure("the server refused our token (\(what)); is --data-dir or --secret-file that server's?"))
        }
        engine.stop(Failure("the server refused \(name(tag)) something (\(what))"))
    }

    private func connected(_ person: Int, _ connection: ConnectionID, _ welcome: ServerMessage.Connected, _ at: Instant)
    {
        linger = .milliseconds(Double(welcome.linger))
        if visitors[person].visible == nil { visitors[person].visible = welcome.serverTime }
        if visitors[person].isReturning, let lost = visitors[person].lost, at - lost > linger - Self.tolerance {
            measurement.lateReturns += 1
            visitors[person].visible = nil
        }
        visitors[person].isReturning = false
        subscribe(person, connection, welcome.limits)
        if visitors[person].unanswered == 0 { isIn(person, connection, at) }
    }

    private func answered(_ person: Int, _ connection: ConnectionID, _ at: Instant) {
        visitors[person].unanswered -= 1
        if visitors[person].unanswered == 0 { isIn(person, connection, at) }
    }

    private func isIn(_ person: Int, _ connection: ConnectionID, _ at: Instant) {
        visitors[person].line = .open(connection)
        measurement.connecting.record(at - visitors[person].dialled)
        if visitors[person].isToLeave { leave(person, at) }
    }

    // MARK: - Events

    private func see(_ user: UserID, _ presence: Presence, _ watcher: Int, _ at: Instant) {
        if phase == .churning { measurement.events += 1 }
        guard let place = users.number(of: user), visitors[watcher].shown[place] != nil else {
            if measurement.failures.count < 20 {
                measurement.failures.append(
                    "\(users.user(watcher)) got an event about \(user) before any answer that has them")
            }
            return
        }
        guard visitors[watcher].shown[place]!.apply(presence) else { return measurement.repeated += 1 }
        switch (presence.status != .offline, truths[place].device != nil) {
        case (true, true):
            if let came = visitors[place].came { measurement.online.record(at - came) }
        case (false, false): seeGone(place, at)
        case (false, true): seeGoneThoughHere(place, presence, at)
        case (true, false): measurement.overtaken += 1
        }
    }

    private func seeGone(_ place: Int, _ at: Instant) {
        if let went = visitors[place].went {
            measurement.offline.record(at - went)
        } else if let lost = visitors[place].lost {
            measurement.afterLoss.record(at - lost)
            if at - lost < linger - Self.tolerance { measurement.early += 1 }
        }
    }

    /// A person is shown offline who is connected, or will be before linger ends. An event of an earlier visit may have
    /// been on its way; one that was created after this visit began is wrong.
    private func seeGoneThoughHere(_ place: Int, _ presence: Presence, _ at: Instant) {
        guard let visible = visitors[place].visible, let since = presence.since, since > visible else {
            return measurement.overtaken += 1
        }
        measurement.flickers += 1
    }

    // MARK: - Asking at the end

    func dialAsker() {
        do {
            _ = try engine.dial(tag: visitors.count)
        } catch {
            engine.stop(error)
        }
    }

    private func receiveAsAsker(_ message: ServerMessage, _ connection: ConnectionID) {
        switch message {
        case .connected(_, let welcome):
            var batches = Batches(visitors.indices.map(users.user), size: welcome.limits.subscribeBatch)
            while let (people, left) = batches.next() {
                unansweredGets += 1
                engine.send(ClientMessage(id: Int64(left + 1), .get(users: people)).encoded(), on: connection)
            }
        case .users(_, let people, let more):
            for snapshot in people {
                if let place = users.number(of: snapshot.user) { asked[place].apply(snapshot) }
            }
            if !more { unansweredGets -= 1 }
            if unansweredGets == 0 { compare() }
        default: break
        }
    }

    private func compare() {
        let present = visitors.indices.filter { if case .open = visitors[$0].line { true } else { false } }
        let comparison = Comparison(users: visitors.indices.map(users.user), truths: truths, asked: asked)
        measurement.differences = comparison.differences(
            watchers: present.map { ($0, neighbours[$0], visitors[$0].shown) })
        measurement.compared = visitors.count + present.reduce(0) { $0 + neighbours[$1].count }
        phase = .done
        engine.stop()
    }
}
