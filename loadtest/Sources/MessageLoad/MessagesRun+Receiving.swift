import PresenceProtocol

/// The messages that members receive.
extension MessagesRun {
    func opened(_ connection: ConnectionID, tag: Int) {
        connections[tag] = connection
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
        if let event = MessageEvent(message) { return see(event, tag, at) }
        if MessageEvent.isOfList(message) { return measurement.listEvents += 1 }
        do {
            switch try cache.decode(message) {
            case .connected: connected(tag)
            case .conversationCreated(_, let conversation): created(conversation.id, tag / options.members)
            case .subscribed: ready += 1
            case .ok: answeredMark(tag)
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

    /// The last member to connect makes the conversation.
    private func connected(_ tag: Int) {
        let number = tag / options.members
        gathered[number] += 1
        guard gathered[number] == options.members else { return }
        let create = ClientMessage.Body.createConversation(participants: members(number).map(users.user))
        engine.send(ClientMessage(id: 2, create).encoded(), on: connections[tag]!)
    }

    private func created(_ id: ConversationID, _ number: Int) {
        conversations[number] = id.string
        let list = options.likeApps ? #","conversationList":true"# : ""
        let subscribe = Array(
            #"{"type":"subscribe","id":3,"conversations":[{"id":"\#(id.string)","after":0}]\#(list)}"#.utf8)
        for tag in members(number) { engine.send(subscribe, on: connections[tag]!) }
    }

    private func see(_ event: MessageEvent, _ tag: Int, _ at: Instant) {
        guard sent.indices.contains(event.number) else {
            return blame("\(users.user(tag)) has a message that was never sent: m\(event.number)")
        }
        let message = sent[event.number]
        switch event.kind {
        case .answer:
            guard message.seq == 0 else { return blame("m\(event.number) was acknowledged twice") }
            sent[event.number].seq = event.seq
            acknowledged += 1
            measurement.answering.record(at - message.due)
        case .event:
            guard message.conversation == tag / options.members else {
                return blame("\(users.user(tag)) got a message of a conversation that is not theirs")
            }
            if event.seq != newest[tag] + 1 {
                blame("\(users.user(tag)) got message \(event.seq) after \(newest[tag])")
            }
            newest[tag] = event.seq
            measurement.deliveries += 1
            measurement.delivering.record(at - message.due)
            if options.likeApps { mark(tag) }
        }
    }

    /// Marks a member's newest message as delivered, one request at a time.
    private func mark(_ tag: Int) {
        guard !isMarking[tag], newest[tag] > marked[tag], let id = conversations[tag / options.members] else { return }
        isMarking[tag] = true
        marked[tag] = newest[tag]
        measurement.marks += 1
        let mark = #"{"type":"mark","id":4,"conversation":"\#(id)","delivered":\#(newest[tag])}"#
        engine.send(Array(mark.utf8), on: connections[tag]!)
    }

    private func answeredMark(_ tag: Int) {
        isMarking[tag] = false
        mark(tag)
    }
}
