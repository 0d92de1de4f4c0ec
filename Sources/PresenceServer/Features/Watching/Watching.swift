import PresenceProtocol

/// Requests about others: subscribe, unsubscribe, get.
extension ShardLogic {
    func subscribe(_ connection: Connection, _ id: Int64?, _ request: ClientMessage.Subscribe) {
        // Before anything is read: what is refused costs Redis nothing. A request to leave that has still to be answered
        // may make room; with one it is decided when this one's turn has come.
        if connection.leaving == 0, isBeyondSubscriptions(connection, request) {
            metrics.met(.subscriptions)
            return refuse(tooManySubscriptions.with(id: id), on: connection)
        }
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
                let shown = audiences(of: people, for: connection, session)
                watchers.subscribe(connection, to: shown + conversations)
                var answer = SnapshotReply(.subscribed, id: id, limit: configuration.limits.maxServerMessageBytes)
                for topic in shown {
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

    /// The topics of these people that the connection's user may watch. Where it watched another until now, which only
    /// a viewer whose own policy is not known yet can, it does no longer: the snapshot replaces what it held.
    private func audiences(of people: [Topic], for connection: Connection, _ session: Session) -> [Topic] {
        people.map { person in
            let part = policies.topic(person, for: session.user.id)
            guard person.limited != nil || person.hidden != nil,
                let position = watchers.place(of: person, in: connection)
            else { return part }
            watchers.move(position, of: connection.index, to: part, at: clock.redisNow)
            return part
        }
    }

    private func isBeyondSubscriptions(_ connection: Connection, _ request: ClientMessage.Subscribe) -> Bool {
        let held = watchers.subscriptions(of: connection)
        let wanted = request.users.count + request.conversations.count
        // Mostly there is room for all of them, whoever they are.
        guard held + wanted > configuration.limits.subscriptions else { return false }
        let topics =
            request.users.compactMap(watchers.person) + request.conversations.compactMap(watchers.conversation)
        let unwatched = wanted - topics.count + watchers.unwatched(topics, by: connection)
        return held + unwatched > configuration.limits.subscriptions
    }

    private var tooManySubscriptions: ServerMessage.ErrorMessage {
        .init(
            code: .tooMany,
            message: "at most \(configuration.limits.subscriptions) people and conversations watched by one connection")
    }

    /// A refused request has changed nothing, so everything is checked before anything is done.
    private func refusal(
        of people: [Topic], _ conversations: [Topic], for connection: Connection, _ session: Session,
        _ outcome: Topic.RedisOutcome
    ) -> ServerMessage.ErrorMessage? {
        let limit = configuration.limits.subscriptions
        if watchers.subscriptions(of: connection) + watchers.unwatched(people + conversations, by: connection) > limit {
            metrics.met(.subscriptions)
            return tooManySubscriptions
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
        connection.leaving += 1
        replies.now(on: connection) { [self] in
            connection.leaving -= 1
            watchers.unsubscribe(
                connection, from: users.compactMap(watchers.person) + conversations.compactMap(watchers.conversation))
            var payload: [UInt8] = []
            ServerMessageWriter.unsubscribed(id: id, to: &payload)
            replies.send(payload, to: connection)
        }
    }

    func get(_ connection: Connection, _ id: Int64?, _ users: [UserID]) {
        let reply = replies.expect(on: connection)
        let people = users.map { watchers.hold(person: $0) }
        loader.load(people, viewer: connection.session?.user.id) { [self] outcome in
            replies.fulfil(reply, on: connection) { [self] in
                defer { people.forEach(watchers.release) }
                guard !connection.isClosed, let session = connection.session else { return }
                guard outcome == .loaded else {
                    return replies.error(
                        .init(
                            id: id, code: .unavailable,
                            message: "the store is out of reach, and not all of these are held here",
                            retryAfter: 1_000), to: connection)
                }
                var answer = SnapshotReply(.users, id: id, limit: configuration.limits.maxServerMessageBytes)
                for each in people.map({ shown($0, to: session.user.id) }) {
                    answer.add(user: each.user, presence: each.presence, profile: each.profile)
                }
                for part in answer.finish() { replies.send(part, to: connection) }
            }
        }
    }

    struct ReadPerson {
        let user: UserID
        let presence: [UInt8]
        let profile: [UInt8]
    }

    /// Both registers of some people as somebody may see them, as objects, with no subscription; `nil` when they cannot
    /// be known now. No viewer is a backend, who sees everything.
    func read(_ users: [UserID], for viewer: UserID?, done: @escaping ([ReadPerson]?) -> Void) {
        let people = users.map { watchers.hold(person: $0) }
        // What the viewer shows of themselves counts too.
        let own = viewer.map { [watchers.hold(person: $0)] } ?? []
        loader.load(people + own) { [self] outcome in
            defer { (people + own).forEach(watchers.release) }
            guard outcome == .loaded else { return done(nil) }
            done(people.map { shown($0, to: viewer) })
        }
    }

    /// What somebody may see of a person.
    private func shown(_ person: Topic, to viewer: UserID?) -> ReadPerson {
        let view = policies.view(of: person.subject, for: viewer)
        let hidesPresence = view == .nothing || (view == .withoutLastSeen && person.first.isOffline)
        return ReadPerson(
            user: person.subject,
            presence: hidesPresence ? ServerMessageWriter.unknownPresence : person.presenceObject,
            profile: view == .nothing ? ServerMessageWriter.noProfile : person.profileObject)
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
