import PresenceProtocol

/// The messages that participants receive.
extension TypingRun {
    func opened(_ connection: ConnectionID, tag: Int) {
        typists[tag].connection = connection
        let user = users.user(tag).string
        let connect = ClientMessage.Connect(token: mint.token(user: user), device: .only(of: user))
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        if case .refused(let why) = closing { return engine.stop(Failure(why)) }
        engine.stop(Failure("the connection of \(users.user(tag)) ended: \(closing)"))
    }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        lastReceived = at
        do {
            switch try cache.decode(message) {
            case .connected: connected(tag)
            case .conversationCreated(_, let conversation): created(conversation.id, tag / options.participants)
            case .subscribed(_, _, let entries, more: false):
                guard phase == .gathering else {
                    if let entry = entries.first { answered(entry) }
                    return
                }
                ready += 1
            case .typing(let event): see(event, tag, at)
            case .error(let error):
                engine.stop(
                    Failure(
                        "the server refused \(users.user(tag)) something (\(error.code.rawValue): \(error.message))"))
            default: break
            }
        } catch {
            engine.stop(Failure("the server sent something that cannot be read: \(error)"))
        }
    }

    /// The last participant to connect makes the conversation.
    private func connected(_ tag: Int) {
        let number = tag / options.participants
        gathered[number] += 1
        guard gathered[number] == options.participants else { return }
        let create = ClientMessage.Body.createConversation(participants: members(number).map(users.user))
        engine.send(ClientMessage(id: 2, create).encoded(), on: typists[tag].connection!)
    }

    private func created(_ id: ConversationID, _ number: Int) {
        conversations[number] = id
        numbers[id] = number
        let subscribe = ClientMessage(id: 3, .subscribe(ClientMessage.Subscribe(conversations: [id]))).encoded()
        for tag in members(number) { engine.send(subscribe, on: typists[tag].connection!) }
    }

    private func see(_ event: ServerMessage.TypingEvent, _ watcher: Int, _ at: Instant) {
        guard let number = numbers[event.conversation], number == watcher / options.participants else {
            return engine.stop(Failure("\(users.user(watcher)) got an event of a conversation that is not theirs"))
        }
        if phase == .typing { measurement.events += 1 }
        let first = members(number).lowerBound
        var typing: UInt32 = 0
        for user in event.users {
            guard let tag = users.number(of: user), members(number).contains(tag) else {
                return engine.stop(Failure("\(user) is shown typing in a conversation that is not theirs"))
            }
            typing |= 1 << UInt32(tag - first)
        }
        guard let news = typists[watcher].show(typing, version: event.version) else { return measurement.repeated += 1 }
        let mark = 1 << UInt32(watcher - first) as UInt32
        for tag in members(number) {
            let bit = 1 << UInt32(tag - first) as UInt32
            if news.begun & bit != 0 { seeStart(of: tag, by: mark, at) }
            if news.ended & bit != 0 { seeStop(of: tag, by: mark, at) }
        }
    }

    private func seeStart(of tag: Int, by watcher: UInt32, _ at: Instant) {
        guard let started = typists[tag].started else { return }
        if phase == .typing { measurement.starting.record(at - started) }
        if typists[tag].isTyping { typists[tag].seenBy |= watcher }
    }

    private func seeStop(of tag: Int, by watcher: UInt32, _ at: Instant) {
        guard typists[tag].isTyping else {
            // At the end all stop at one moment; that is not measured.
            if phase == .typing, let stopped = typists[tag].stopped { measurement.stopping.record(at - stopped) }
            return
        }
        // A participant who has not seen the new start may still see an earlier stop.
        if typists[tag].seenBy & watcher != 0 { measurement.dropouts += 1 }
    }
}
