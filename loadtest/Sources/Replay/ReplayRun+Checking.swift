import PresenceProtocol

/// At the end, compares each member's state of a conversation with the truth. For connected members that is their own
/// state; for all members, connected or not, a fresh connection asks the server.
///
///     connected → subscribed (the list) → messages, page by page → the next one
extension ReplayRun {
    /// A connection that asks for one member.
    struct Checker {
        let place: Int
        var chats: [String: Chat] = [:]
        /// Conversations that must still be read to their beginning.
        var unread: [String] = []
        /// The oldest number read in the first of them.
        var oldest: Int64?
    }

    /// The number of connections that ask at a time.
    static let mostCheckers = 32
    static let page = 100

    /// All members of any conversation, in order.
    var participants: [Int] { Set(chatTruths.values.flatMap(\.members)).sorted() }

    func beginChecks() {
        for person in players.indices where players[person].connection != nil {
            compare(players[person].chats, of: person, "")
        }
        unchecked = participants.reversed()
        for _ in 0..<Self.mostCheckers { checkNext() }
        if checkers.isEmpty { endChecks() }
    }

    private func checkNext() {
        guard let place = unchecked.popLast() else { return }
        let tag = players.count + 1 + place
        checkers[tag] = Checker(place: place)
        dial(tag: tag)
    }

    func check(
        _ decoded: ServerMessage, _ kind: ChatWire.Kind?, _ text: UnsafeRawBufferPointer, _ connection: ConnectionID,
        _ tag: Int
    ) throws(Failure) {
        switch kind {
        case .subscribed:
            let answer = try ChatWire.decode(ChatWire.Subscribed.self, text)
            for register in answer.conversationList ?? [] {
                checkers[tag]!.chats[register.id, default: Chat()].apply(register)
            }
            guard answer.more != true else { return }
            checkers[tag]!.unread = checkers[tag]!.chats.keys.sorted()
            readOn(connection, tag)
        case .messages:
            let page = try ChatWire.decode(ChatWire.Page.self, text)
            for message in page.messages {
                _ = checkers[tag]!.chats[page.conversation]!.apply(message, version: nil)
            }
            let oldest = min(checkers[tag]!.oldest ?? .max, page.messages.first?.seq ?? 1)
            checkers[tag]!.oldest = oldest
            guard page.more != true else { return }
            if oldest <= 1 {
                checkers[tag]!.unread.removeFirst()
                checkers[tag]!.oldest = nil
            }
            readOn(connection, tag)
        default:
            guard case .connected = decoded else { return }
            engine.send(
                Array(#"{"type":"subscribe","id":2,"conversationList":true,"known":{}}"#.utf8), on: connection)
        }
    }

    private func readOn(_ connection: ConnectionID, _ tag: Int) {
        guard let conversation = checkers[tag]!.unread.first else {
            let done = checkers.removeValue(forKey: tag)!
            engine.close(connection)
            compare(done.chats, of: done.place, ", asked anew,")
            checkNext()
            if checkers.isEmpty { endChecks() }
            return
        }
        let before = checkers[tag]!.oldest.map { #","before":\#($0)"# } ?? ""
        engine.send(
            Array(
                #"{"type":"getMessages","id":3,"conversation":"\#(conversation)","limit":\#(Self.page)\#(before)}"#.utf8
            ),
            on: connection)
    }

    private func compare(_ chats: [String: Chat], of place: Int, _ how: String) {
        let names = { self.cast.users[$0].string }
        for (conversation, truth) in chatTruths where truth.members.contains(place) {
            measurement.compared += 2
            let who = "\(names(place))\(how) of conversation \(conversation),"
            let chat = chats[conversation] ?? Chat()
            if let wrong = truth.contradiction(by: chat.messages, names: names) {
                measurement.differences.append("\(who) \(wrong)")
            }
            if let wrong = truth.contradiction(by: chat.register, for: place, names: names) {
                measurement.differences.append("\(who) \(wrong)")
            }
        }
        for conversation in chats.keys where chatTruths[conversation]?.members.contains(place) != true {
            measurement.differences.append("\(names(place))\(how) has the conversation \(conversation) of others")
        }
    }

    private func endChecks() {
        phase = .done
        engine.stop()
    }
}
