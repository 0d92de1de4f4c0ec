import PresenceProtocol

/// The messages to players, and to the connection that asks at the end.
extension ReplayRun {
    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        lastReceived = at
        let kind = ChatWire.Kind(message)
        let decoded: ServerMessage
        do {
            if let kind, tag < players.count, try receive(kind, message, tag, at) { return }
            decoded = try cache.decode(message)
            if case .error(let error) = decoded { return refuse(error, tag) }
            if isChecker(tag) { return try check(decoded, kind, message, connection, tag) }
        } catch let failure as Failure {
            return engine.stop(failure)
        } catch {
            return engine.stop(Failure("the server sent something that cannot be read: \(error)"))
        }
        if kind == .sent { return answered(tag) }
        if isAsker(tag) { return receiveAsAsker(decoded, connection) }
        switch decoded {
        case .connected(_, let welcome): connected(tag, connection, welcome, at)
        case .subscribed(_, let users, let conversations, let more):
            apply(users, tag)
            for entry in conversations {
                _ = players[tag].show(entry.typing, typingIn: entry.conversation, version: entry.version)
            }
            if !more { answered(tag) }
        case .conversationCreated(_, let conversation):
            gather(conversation)
            players[tag].stage = .made(conversation.id)
            answered(tag)
        case .ok(let id):
            marked(id, tag)
            answered(tag)
        case .profileUpdated: answered(tag)
        case .presence(let user, let presence, _): see(user, presence, tag, at)
        case .profile(let user, let profile, _): see(user, profile, tag, at)
        case .typing(let event): see(event, tag, at)
        default: break
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

    private func answered(_ person: Int) {
        players[person].unanswered -= 1
        advance(person)
    }

    // MARK: - Players

    private func connected(
        _ person: Int, _ connection: ConnectionID, _ welcome: ServerMessage.Connected, _ at: Instant
    ) {
        players[person].line = .open(connection)
        linger = welcome.linger
        if let due = changed[person].dialled { measurement.connecting.record(at - due) }
        setUp(person, welcome.limits)
        advance(person)
    }

    private func apply(_ users: [UserSnapshot], _ person: Int) {
        for snapshot in users {
            guard let place = cast.place(of: snapshot.user) else { continue }
            players[person].shown[place, default: Shown()].apply(snapshot)
        }
    }

    /// All members of a new conversation watch it, as an app would make them.
    private func gather(_ conversation: ServerMessage.Conversation) {
        measurement.conversations += 1
        if chatTruths[conversation.id.string] == nil {
            chatTruths[conversation.id.string] = ChatTruth(
                members: conversation.participants.compactMap(cast.place(of:)))
        }
        for place in conversation.participants.compactMap(cast.place(of:)) where place < players.count {
            players[place].conversations[conversation.id] = (-1, [])
            watchConversations(place, [conversation.id])
        }
    }

    // MARK: - Events

    private func see(_ user: UserID, _ presence: Presence, _ person: Int, _ at: Instant) {
        measurement.events += 1
        guard let place = expected(user, person) else { return }
        guard players[person].shown[place]!.apply(presence) else { return measurement.repeated += 1 }
        guard place < players.count else { return }
        let isHere = presence.status != .offline
        guard isHere == (truths[place].device != nil) else { return measurement.overtaken += 1 }
        if isHere, let came = changed[place].came { measurement.online.record(at - came) }
        if !isHere, let went = changed[place].went { measurement.offline.record(at - went) }
    }

    private func see(_ user: UserID, _ profile: ProfileRegister, _ person: Int, _ at: Instant) {
        measurement.events += 1
        guard let place = expected(user, person) else { return }
        guard players[person].shown[place]!.apply(profile) else { return measurement.repeated += 1 }
        guard place < players.count, let renamed = changed[place].renamed else { return }
        guard profile.displayName == truths[place].displayName else { return measurement.overtaken += 1 }
        measurement.renaming.record(at - renamed)
    }

    private func see(_ event: ServerMessage.TypingEvent, _ person: Int, _ at: Instant) {
        measurement.events += 1
        guard players[person].show(event.users, typingIn: event.conversation, version: event.version) else {
            return measurement.repeated += 1
        }
        // Only the maker of the conversation types in it.
        guard let typist = event.users.first.flatMap(cast.place(of:)), typist < players.count else { return }
        guard players[typist].typingAgain != nil else { return measurement.overtaken += 1 }
        if let typed = changed[typist].typed { measurement.typing.record(at - typed) }
    }

    /// The place of a user whom `person` watches and has received an answer about: no event may arrive before that.
    private func expected(_ user: UserID, _ person: Int) -> Int? {
        if let place = cast.place(of: user), players[person].shown[place] != nil { return place }
        if measurement.failures.count < 20 {
            measurement.failures.append(
                "\(cast.users[person]) got an event about \(user) before any answer that has them")
        }
        return nil
    }

    // MARK: - Asking at the end

    private func receiveAsAsker(_ message: ServerMessage, _ connection: ConnectionID) {
        switch message {
        case .connected(_, let welcome):
            var batches = Batches(cast.users, size: welcome.limits.subscribeBatch)
            while let (users, left) = batches.next() {
                unanswered += 1
                engine.send(ClientMessage(id: Int64(left + 1), .get(users: users)).encoded(), on: connection)
            }
        case .users(_, let users, let more):
            for snapshot in users {
                if let place = cast.place(of: snapshot.user) { asked[place].apply(snapshot) }
            }
            if !more { unanswered -= 1 }
            if unanswered == 0 { compare() }
        default: break
        }
    }

    private func compare() {
        let here = players.indices.filter { players[$0].connection != nil }
        let comparison = Comparison(users: cast.users, truths: truths, asked: asked)
        measurement.differences = comparison.differences(
            watchers: here.map { ($0, cast.watched[$0], players[$0].shown) },
            typing: here.flatMap { place in players[place].conversations.map { (place, $0.key, $0.value.users) } })
        measurement.compared = cast.users.count + here.reduce(0) { $0 + cast.watched[$1].count }
        phase = .checking
        beginChecks()
    }
}
