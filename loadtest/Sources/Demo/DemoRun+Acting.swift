import PresenceProtocol

/// The actions of people.
extension DemoRun {
    /// Performs the next action of a person whose time has come.
    func act(_ person: Int, _ now: Instant) {
        deeds += 1
        guard let connection = people[person].connection else {
            dial(person, device: Bool.random() ? 0 : 1)
            return rest(person, 4...12, now)
        }
        switch Int.random(in: 0..<100) {
        case ..<34: beginTyping(person, now)
        case ..<50: toggleIdle(person, now)
        case ..<62: setBusy(person, connection, now)
        case ..<74: setText(person, connection, now)
        case ..<80: rename(person, connection, now)
        case ..<88: toggleSecondDevice(person, now)
        case ..<97: leave(person, now, isVanishing: false)
        default: leave(person, now, isVanishing: true)
        }
    }

    private func beginTyping(_ person: Int, _ now: Instant) {
        rest(person, 5...14, now)
        guard people[person].typing == nil, let conversation = conversations[person / Self.circle] else { return }
        people[person].typing = (now + .seconds(.random(in: 2...9)), now, conversation)
        keepTyping(person, now)
    }

    /// Repeats that a person types, or sends that they stopped, when it is due.
    func keepTyping(_ person: Int, _ now: Instant) {
        guard let typing = people[person].typing else { return }
        guard let connection = people[person].connection, typing.until > now else {
            people[person].typing = nil
            if let connection = people[person].connection {
                send(.typing(conversation: typing.conversation, typing: false), on: connection)
            }
            return
        }
        guard typing.again <= now else { return }
        people[person].typing!.again = now + .seconds(3)
        send(.typing(conversation: typing.conversation, typing: true), on: connection)
    }

    private func toggleIdle(_ person: Int, _ now: Instant) {
        people[person].isIdle.toggle()
        for device in people[person].devices.compactMap(\.connection) {
            send(.activity(people[person].isIdle ? .idle : .active), on: device)
        }
        rest(person, people[person].isIdle ? 8...25 : 3...12, now)
    }

    private func setBusy(_ person: Int, _ connection: ConnectionID, _ now: Instant) {
        let text = Names.busyTexts.randomElement()!
        let change = StatusChange(status: .busy, text: .set(text), clearAfter: .random(in: 15_000...60_000))
        send(.status(change), on: connection)
        rest(person, 10...30, now)
    }

    private func setText(_ person: Int, _ connection: ConnectionID, _ now: Instant) {
        let text = Bool.random() ? Names.quietTexts.randomElement() : nil
        send(.status(StatusChange(status: .auto, text: text.map(Change.set) ?? .remove)), on: connection)
        rest(person, 6...20, now)
    }

    private func rename(_ person: Int, _ connection: ConnectionID, _ now: Instant) {
        let name = people[person].name + Names.additions.randomElement()!
        send(.updateProfile(ProfileChanges(displayName: .set(name))), on: connection)
        rest(person, 6...20, now)
    }

    private func toggleSecondDevice(_ person: Int, _ now: Instant) {
        rest(person, 6...20, now)
        let open = people[person].devices.indices.filter { people[person].devices[$0].connection != nil }
        if open.count == 2, let connection = people[person].devices[1].connection {
            people[person].devices[1].line = .none
            engine.close(connection)
        } else if let other = people[person].devices.indices.first(where: { people[person].devices[$0].line == .none })
        {
            dial(person, device: other)
        }
    }

    /// Disconnects all devices, or loses the connection: then most are back before others notice.
    private func leave(_ person: Int, _ now: Instant, isVanishing: Bool) {
        for device in people[person].devices.indices {
            guard let connection = people[person].devices[device].connection else { continue }
            people[person].devices[device].line = .none
            if isVanishing { engine.abandon(connection) } else { engine.close(connection) }
        }
        people[person].typing = nil
        people[person].isIdle = false
        rest(person, isVanishing ? 1...25 : 8...40, now)
    }

    private func send(_ body: ClientMessage.Body, on connection: ConnectionID) {
        engine.send(ClientMessage(body).encoded(), on: connection)
    }
}
