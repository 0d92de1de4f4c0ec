import PresenceProtocol

/// The players' actions, when they are due and possible on their connections.
extension ReplayRun {
    /// Performs the due actions of `person` in order, as far as possible now.
    func advance(_ person: Int) {
        while let deed = players[person].deeds.first {
            guard act(deed, person) else { return }
            players[person].deeds.removeFirst()
        }
    }

    /// Returns whether the action is done; if not, it is tried again when a message for that person has arrived.
    private func act(_ deed: Deed, _ person: Int) -> Bool {
        if deed.act == .join { return join(person, due(deed)) }
        guard players[person].connection != nil else { return false }
        switch deed.act {
        case .join: return true
        case .leave: return leave(person, due(deed))
        case .rename: rename(person, due(deed))
        case .beginTyping: return beginTyping(person, due(deed))
        case .endTyping(let length): endTyping(person, length, due(deed))
        }
        return true
    }

    private func join(_ person: Int, _ due: Instant) -> Bool {
        switch players[person].line {
        case .opening: return true
        case .none:
            measurement.joins += 1
            truths[person].device = players[person].device
            truths[person].isUnknown = false
            changed[person].came = due
        case .open(let connection):
            // An unanswered request may or may not have taken effect, but the truth must be known.
            guard players[person].unanswered == 0 else { return false }
            measurement.lostLines += 1
            engine.abandon(connection)
        }
        changed[person].dialled = due
        dial(tag: person)
        return true
    }

    private func leave(_ person: Int, _ due: Instant) -> Bool {
        guard let connection = players[person].connection, players[person].unanswered == 0 else { return false }
        players[person].line = .none
        truths[person].device = nil
        measurement.leaves += 1
        if measurement.leaves * options.lost / 100 > (measurement.leaves - 1) * options.lost / 100 {
            measurement.vanished += 1
            changed[person].went = nil
            engine.abandon(connection)
            // The length of linger, and a second because timers are coarse.
            quietNotBefore = .now() + .milliseconds(Double(linger) + 1_000)
        } else {
            changed[person].went = due
            // The two clean ways to disconnect, in turn.
            if measurement.leaves.isMultiple(of: 2) {
                engine.send(ClientMessage(.disconnect).encoded(), on: connection)
            }
            engine.close(connection)
        }
        return true
    }

    private func rename(_ person: Int, _ due: Instant) {
        players[person].renames += 1
        measurement.renames += 1
        changed[person].renamed = due
        introduce(person)
    }

    /// Sends the person's present name to the server.
    func introduce(_ person: Int) {
        let renames = players[person].renames
        let name = cast.names[person].prefix(40) + (renames > 0 ? " (\(renames))" : "")
        truths[person].displayName = String(name)
        request(.updateProfile(ProfileChanges(displayName: .set(String(name)))), of: person)
    }

    private func beginTyping(_ person: Int, _ due: Instant) -> Bool {
        guard !cast.companions[person].isEmpty else { return true }
        switch players[person].stage {
        case .none:
            players[person].stage = .asked
            let participants = [cast.users[person]] + cast.companions[person].map { cast.users[$0] }
            request(.createConversation(participants: participants), of: person)
            return false
        case .asked: return false
        case .made(let conversation):
            changed[person].typed = due
            players[person].typingAgain = .now() + Self.typingInterval
            begins(typing: person)
            request(.typing(conversation: conversation, typing: true), of: person)
            return true
        }
    }

    private func endTyping(_ person: Int, _ length: Int, _ due: Instant) {
        measurement.messages += 1
        guard case .made(let conversation) = players[person].stage else { return measurement.alone += 1 }
        players[person].typingAgain = nil
        request(.typing(conversation: conversation, typing: false), of: person)
        write(length, person, in: conversation, due)
    }

    /// After connecting, a player sends their profile if the server does not have it, and watches all people whom they
    /// know.
    func setUp(_ person: Int, _ limits: ConnectionLimits) {
        if truths[person].displayName == nil { introduce(person) }
        var batches = Batches(cast.watched[person], size: limits.subscribeBatch)
        while let (places, _) = batches.next() {
            var subscribe = ClientMessage.Subscribe(users: places.map { cast.users[$0] })
            for place in places { subscribe.known[cast.users[place]] = players[person].shown[place]?.known }
            request(.subscribe(subscribe), of: person)
        }
        watchConversations(person, Array(players[person].conversations.keys))
        watchList(person)
    }
}
