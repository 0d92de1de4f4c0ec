import PresenceProtocol

/// The players' messages, the messages that they receive, and their marks.
extension ReplayRun {
    // MARK: - Acting

    /// Sends a real message of this length.
    func write(_ length: Int, _ person: Int, in conversation: ConversationID, _ due: Instant) {
        players[person].written += 1
        let id = "\(cast.names[person])-\(players[person].written)"
        let text = ChatWire.text(length, players[person].written)
        let after = players[person].chats[conversation.string]?.last ?? 0
        let members =
            #""conversation":"\#(conversation.string)","message":{"id":"\#(id)","text":"\#(text)"},"after":\#(after)"#
        guard let request = request("send", members, of: person) else { return }
        players[person].sends[request] = ChatTruth.Sent(id: id, from: person, text: text)
        written[id] = due
    }

    /// Follows the messages and the typing of conversations, from this client's position.
    func watchConversations(_ person: Int, _ conversations: [ConversationID]) {
        guard !conversations.isEmpty else { return }
        let cursors = conversations.map { ($0.string, players[person].chats[$0.string] ?? Chat()) }
        _ = request(
            "subscribe", #""conversations":[\#(cursors.map { $1.cursor($0) }.joined(separator: ","))]"#, of: person)
    }

    /// Follows the list of the own conversations.
    func watchList(_ person: Int) {
        let known = players[person].chats.compactMap { id, chat in chat.register.map { #""\#(id)":\#($0.version)"# } }
        _ = request(
            "subscribe", #""conversationList":true,"known":{\#(known.joined(separator: ","))}"#, of: person)
    }

    /// - Returns: its number; `nil` without a connection.
    private func request(_ type: StaticString, _ members: String, of person: Int) -> Int64? {
        guard let connection = players[person].connection else { return nil }
        let id = players[person].nextRequest()
        engine.send(Array(#"{"type":"\#(type)","id":\#(id),\#(members)}"#.utf8), on: connection)
        return id
    }

    // MARK: - Receiving

    /// Handles a message about conversations. Returns whether it contains nothing else.
    func receive(
        _ kind: ChatWire.Kind, _ text: UnsafeRawBufferPointer, _ person: Int, _ at: Instant
    ) throws(Failure) -> Bool {
        switch kind {
        case .message:
            let news = try ChatWire.decode(ChatWire.OneMessage.self, text)
            receive(news, person, at)
        case .conversation:
            let register = try ChatWire.decode(ChatWire.OneConversation.self, text).conversation
            measurement.events += 1
            players[person].chats[register.id, default: Chat()].apply(register)
        case .sent:
            let sent = try ChatWire.decode(ChatWire.OneMessage.self, text)
            guard let id = sent.id, let truth = players[person].sends.removeValue(forKey: id) else { return true }
            if let wrong = chatTruths[sent.conversation]?.record(truth, seq: sent.message.seq) { blame(wrong) }
            measurement.sent += 1
        case .subscribed:
            let answer = try ChatWire.decode(ChatWire.Subscribed.self, text)
            for part in answer.conversations ?? [] where part.messages != nil {
                players[person].chats[part.conversation, default: Chat()].apply(part)
                updateMarks(part.conversation, person)
            }
            for register in answer.conversationList ?? [] {
                players[person].chats[register.id, default: Chat()].apply(register)
            }
            return false
        case .messages: break
        }
        return kind != .sent
    }

    private func receive(_ news: ChatWire.OneMessage, _ person: Int, _ at: Instant) {
        measurement.events += 1
        if let due = written[news.message.id] { measurement.delivering.record(at - due) }
        let isNext = players[person].chats[news.conversation, default: Chat()].apply(
            news.message, version: news.conversationVersion)
        if !isNext { blame("\(cast.users[person]) got message \(news.message.seq) before those that precede it") }
        updateMarks(news.conversation, person)
    }

    /// A client marks every fifth message as delivered: some are in hundreds of conversations, and a connection may
    /// make 100 requests a second. Every other person also marks it as read, the others every fifteenth.
    private func updateMarks(_ conversation: String, _ person: Int) {
        let last = players[person].chats[conversation]!.last
        let delivered = last / 5 * 5
        players[person].chats[conversation]!.wanted.delivered = delivered
        let read = person.isMultiple(of: 2) ? delivered : last / 15 * 15
        players[person].chats[conversation]!.wanted.read = max(players[person].chats[conversation]!.wanted.read, read)
        mark(conversation, person)
    }

    /// Sends the newest marks, one request at a time.
    private func mark(_ conversation: String, _ person: Int) {
        guard let chat = players[person].chats[conversation], !chat.isMarking, chat.wanted != chat.told,
            chatTruths[conversation] != nil
        else { return }
        let marks = #""delivered":\#(chat.wanted.delivered),"read":\#(chat.wanted.read)"#
        guard let id = request("mark", #""conversation":"\#(conversation)",\#(marks)"#, of: person) else { return }
        players[person].chats[conversation]!.isMarking = true
        players[person].chats[conversation]!.told = chat.wanted
        players[person].marks[id] = conversation
    }

    /// Handles the answer `ok`, which may belong to a mark.
    func marked(_ id: Int64?, _ person: Int) {
        guard let id, let conversation = players[person].marks.removeValue(forKey: id) else { return }
        let told = players[person].chats[conversation]!.told
        chatTruths[conversation]?.record(told, of: person)
        measurement.marks += 1
        players[person].chats[conversation]!.isMarking = false
        mark(conversation, person)
    }

    func blame(_ what: String) {
        if measurement.failures.count < 20 { measurement.failures.append(what) }
    }
}
