import PresenceProtocol

// What the server is asked for because somebody is observed, or is no more.
extension Session {
    /// Asks for those who became observed, leaves those who are no more.
    mutating func settleSubscriptions(at now: Moment) {
        guard !unsettledPeople.isEmpty || !unsettledConversations.isEmpty else { return }
        leaveUnobserved(at: now, keepingGrace: !isCrowded)
        guard isConnected else { return }
        askForPeople(at: now)
        askForConversations(at: now)
    }

    /// Whether there is no room for all who want to be asked for: then nobody is kept whom nobody looks at.
    private var isCrowded: Bool {
        guard isConnected else { return false }
        let people = unsettledPeople.count { self.people[$0].map { $0.watch.loops > 0 } ?? false }
        let conversations = unsettledConversations.count { self.conversations[$0].map { $0.watch.loops > 0 } ?? false }
        return subscriptions + people + conversations > limits.subscriptions
    }

    private mutating func leaveUnobserved(at now: Moment, keepingGrace: Bool) {
        var users: [UserID] = []
        for user in unsettledPeople {
            guard let person = people[user] else {
                unsettledPeople.remove(user)
                continue
            }
            guard person.watch.isOver(at: keepingGrace ? now.uptime : nil) else { continue }
            // While the answer is awaited the person stays; it brings them here again.
            unsettledPeople.remove(user)
            if person.watch.stage == .asked { continue }
            if person.watch.stage == .watched { users.append(user) }
            if let cached = person.cached(as: user, at: clock.date(at: now)) { say(.writeCache([cached])) }
            people[user] = nil
            uncached.remove(user)
        }
        var left: [ConversationID] = []
        for id in unsettledConversations {
            guard let conversation = conversations[id] else {
                unsettledConversations.remove(id)
                continue
            }
            guard conversation.watch.isOver(at: keepingGrace ? now.uptime : nil) else { continue }
            unsettledConversations.remove(id)
            if conversation.watch.stage == .asked { continue }
            if conversation.watch.stage == .watched { left.append(id) }
            conversations[id] = nil
        }
        guard isConnected, !users.isEmpty || !left.isEmpty else { return }
        subscriptions -= users.count + left.count
        for batch in batches(of: users.sorted(), bytes: { $0.longestBytes }) {
            send(.unsubscribe(users: batch, conversations: []), .unsubscribe)
        }
        for batch in batches(of: left.sorted(), bytes: { $0.longestBytes }) {
            send(.unsubscribe(users: [], conversations: batch), .unsubscribe)
        }
        readmit()
    }

    /// There is room again: those for whom there was none are asked for.
    private mutating func readmit() {
        for (user, person) in people {
            guard case .refused(_, room: true) = person.watch.stage else { continue }
            people[user]!.watch.stage = .unasked
            unsettledPeople.insert(user)
        }
        for (id, conversation) in conversations {
            guard case .refused(_, room: true) = conversation.watch.stage else { continue }
            conversations[id]!.watch.stage = .unasked
            unsettledConversations.insert(id)
        }
    }

    private mutating func askForPeople(at now: Moment) {
        var asked: [UserID] = []
        for user in unsettledPeople.sorted() {
            guard let watch = people[user]?.watch, watch.loops > 0, !watch.waits(at: now.uptime) else { continue }
            unsettledPeople.remove(user)
            guard watch.canBeAsked else { continue }
            if subscriptions < limits.subscriptions {
                subscriptions += 1
                people[user]!.watch.stage = .asked
                asked.append(user)
            } else {
                people[user]!.watch.stage = .refused(.noRoom(limits), room: true)
                touch(user)
            }
        }
        for batch in batches(of: asked, bytes: { $0.longestBytes * 2 + 80 }) {
            var known: [UserID: ClientMessage.KnownVersions] = [:]
            for user in batch { known[user] = people[user]?.knownVersions }
            send(.subscribe(.init(users: batch, known: known)), .subscribe(batch))
        }
    }

    /// One message each: a conversation that is forbidden refuses everything that is asked for with it.
    private mutating func askForConversations(at now: Moment) {
        for id in unsettledConversations.sorted() {
            guard let watch = conversations[id]?.watch, watch.loops > 0, !watch.waits(at: now.uptime) else { continue }
            unsettledConversations.remove(id)
            guard watch.canBeAsked else { continue }
            if subscriptions < limits.subscriptions {
                subscriptions += 1
                conversations[id]!.watch.stage = .asked
                send(.subscribe(.init(conversations: [id])), .follow(id))
            } else {
                conversations[id]!.watch.stage = .refused(.noRoom(limits), room: true)
                touch(conversation: id)
            }
        }
    }

    /// Parts that one message may name, by number and by bytes.
    func batches(of ids: [Identifier], bytes: (Identifier) -> Int) -> [[Identifier]] {
        let room = limits.maxMessageBytes - 256
        var batches: [[Identifier]] = []
        var batch: [Identifier] = []
        var used = 0
        for id in ids {
            let size = bytes(id)
            if !batch.isEmpty, batch.count == limits.subscribeBatch || used + size > room {
                batches.append(batch)
                batch = []
                used = 0
            }
            batch.append(id)
            used += size
        }
        if !batch.isEmpty { batches.append(batch) }
        return batches
    }
}

extension Watch {
    /// Whether nobody has looked for so long that it can go; without a time, whether nobody looks.
    fileprivate func isOver(at uptime: Duration?) -> Bool {
        guard loops == 0 else { return false }
        guard let uptime, let leavesAt else { return true }
        return leavesAt <= uptime
    }

    fileprivate func waits(at uptime: Duration) -> Bool {
        if case .later(let due) = stage { due > uptime } else { false }
    }

    fileprivate var canBeAsked: Bool {
        switch stage {
        case .unasked, .later: true
        case .asked, .watched, .refused: false
        }
    }
}

extension Identifier {
    /// The most that it can take in a message: quotes and backslashes are escaped.
    fileprivate var longestBytes: Int { string.utf8.count * 2 + 3 }
}

extension PresenceError {
    fileprivate static func noRoom(_ limits: ConnectionLimits) -> PresenceError {
        PresenceError(.tooMany, "the server lets one connection observe \(limits.subscriptions) people at most")
    }
}
