import PresenceProtocol

/// Requests about others: subscribe, unsubscribe, get.
extension ShardLogic {
    func subscribe(_ connection: Connection, _ id: Int64?, _ request: ClientMessage.Subscribe) {
        let people = request.users.map { watchers.hold(person: $0) }
        let conversations = request.conversations.map { watchers.hold(conversation: $0) }
        let reply = replies.expect(on: connection)
        loader.load(people + conversations, for: connection.session?.user.id) { [self] outcome in
            // The snapshot is taken, and watching begins, when the answer's turn has come: no gap, and no event first.
            replies.fulfil(reply, on: connection) { [self] in
                defer { (people + conversations).forEach(watchers.release) }
                guard !connection.isClosed, let session = connection.session else { return }
                if let refusal = refusal(of: people, conversations, for: connection, session, outcome) {
                    return replies.error(refusal.with(id: id), to: connection)
                }
                watchers.subscribe(connection, to: people + conversations)
                var answer = SnapshotReply(.subscribed, id: id, limit: configuration.limits.maxServerMessageBytes)
                for topic in people {
                    let known = request.known[topic.subject]
                    let presence = topic.first.version == known?.presence ? nil : topic.presenceObject
                    let profile = topic.second.version == known?.profile ? nil : topic.profileObject
                    if presence != nil || profile != nil {
                        answer.add(user: topic.subject, presence: presence, profile: profile)
                    }
                }
                for topic in conversations {
                    guard let state = topic.conversation else { continue }
                    answer.add(
                        .init(
                            conversation: topic.subject, version: state.version, typing: state.names))
                }
                for part in answer.finish() { replies.send(part, to: connection) }
            }
        }
    }

    /// A refused request has changed nothing, so everything is checked before anything is done.
    private func refusal(
        of people: [Topic], _ conversations: [Topic], for connection: Connection, _ session: Session,
        _ outcome: Topic.RedisOutcome
    ) -> ServerMessage.ErrorMessage? {
        let limit = configuration.limits.subscriptions
        if watchers.subscriptions(of: connection) + watchers.unwatched(people + conversations, by: connection) > limit {
            metrics.met(.subscriptions)
            return .init(code: .tooMany, message: "at most \(limit) people and conversations watched by one connection")
        }
        if outcome == .failed {
            return .init(
                code: .unavailable, message: "the store is out of reach, and not all of these are held here",
                retryAfter: 1_000)
        }
        if conversations.contains(where: { $0.conversation?.participants.contains(session.user.id) != true }) {
            return .init(code: .forbidden, message: "only participants may watch a conversation")
        }
        return nil
    }

    func unsubscribe(
        _ connection: Connection, _ id: Int64?, _ users: [UserID], _ conversations: [ConversationID]
    ) {
        replies.now(on: connection) { [self] in
            for topic in users.compactMap(watchers.person) + conversations.compactMap(watchers.conversation) {
                watchers.unsubscribe(connection, from: topic)
            }
            var payload: [UInt8] = []
            ServerMessageWriter.unsubscribed(id: id, to: &payload)
            replies.send(payload, to: connection)
        }
    }

    func get(_ connection: Connection, _ id: Int64?, _ users: [UserID]) {
        let reply = replies.expect(on: connection)
        read(users) { [self] people in
            replies.fulfil(reply, on: connection) { [self] in
                guard !connection.isClosed else { return }
                guard let people else {
                    return replies.error(
                        .init(
                            id: id, code: .unavailable,
                            message: "the store is out of reach, and not all of these are held here",
                            retryAfter: 1_000), to: connection)
                }
                var answer = SnapshotReply(.users, id: id, limit: configuration.limits.maxServerMessageBytes)
                for each in people { answer.add(user: each.user, presence: each.presence, profile: each.profile) }
                for part in answer.finish() { replies.send(part, to: connection) }
            }
        }
    }

    struct ReadPerson {
        let user: UserID
        let presence: [UInt8]
        let profile: [UInt8]
    }

    /// Both registers of some people, as objects, with no subscription; `nil` when they cannot be known now.
    func read(_ users: [UserID], done: @escaping ([ReadPerson]?) -> Void) {
        let people = users.map { watchers.hold(person: $0) }
        loader.load(people) { [self] outcome in
            defer { people.forEach(watchers.release) }
            guard outcome == .loaded else { return done(nil) }
            done(
                people.map {
                    ReadPerson(user: $0.subject, presence: $0.presenceObject, profile: $0.profileObject)
                })
        }
    }
}

extension Topic {
    var presenceObject: [UInt8] {
        first.version == 0 ? ServerMessageWriter.unknownPresence : Array(first.bytes[first.object])
    }

    var profileObject: [UInt8] {
        second.version == 0 ? ServerMessageWriter.noProfile : Array(second.bytes[second.object])
    }
}

extension ServerMessage.ErrorMessage {
    func with(id: Int64?) -> Self {
        var copy = self
        copy.id = id
        return copy
    }
}
