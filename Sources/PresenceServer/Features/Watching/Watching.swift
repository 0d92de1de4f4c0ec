import PresenceCore
import PresenceProtocol
import WebSockets

/// Requests about others: subscribe, unsubscribe, get.
final class Watching: Feature {
    static let plan = FeaturePlan(name: "watching", isOptional: false)

    private unowned let shard: ShardLogic
    /// Where conversations are watched; `nil` if that is switched off.
    private lazy var typing = shard.feature(Typing.self)

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.request(
            "subscribe", price: { RequestPrice.ids($0.users.count + $0.conversations.count) },
            decode: ClientRequest.subscribe
        ) { [unowned self] request, context in subscribe(context.connection, context.id, request) }
        registry.request("unsubscribe", decode: ClientRequest.unsubscribe) { [unowned self] request, context in
            unsubscribe(context.connection, context.id, request.users, request.conversations)
        }
        registry.request("get", price: { RequestPrice.ids($0.count) }, decode: ClientRequest.get) {
            [unowned self] users, context in get(context.connection, context.id, users)
        }
        registerRoutes(in: &registry)
    }

    private func conversation(_ id: ConversationID) -> Topic? {
        typing.flatMap { shard.watchers.topic(id, $0.conversations) }
    }

    private func subscribe(_ connection: Connection, _ id: Int64?, _ request: ClientMessage.Subscribe) {
        // Before anything is read: what is refused costs Redis nothing. A request to leave that has still to be answered
        // may make room; with one it is decided when this one's turn has come.
        if connection.leaving == 0, isBeyondSubscriptions(connection, request) {
            shard.metrics.met(.subscriptions)
            return shard.refuse(tooManySubscriptions.with(id: id), on: connection)
        }
        guard request.conversations.isEmpty || typing != nil else {
            return shard.refuse(
                .init(id: id, code: .unknownType, message: "conversations are not watched on this server"),
                on: connection)
        }
        let people = request.users.map { shard.watchers.hold(person: $0) }
        let conversations = request.conversations.compactMap { id in
            typing.map { shard.watchers.hold(id, $0.conversations) }
        }
        let reply = shard.replies.expect(on: connection)
        shard.loader.load(people + conversations, for: connection.session?.user.id) { [self] outcome in
            // The snapshot is taken, and watching begins, when the answer's turn has come: no gap, and no event first.
            shard.replies.fulfil(reply, on: connection) { [self] in
                defer { (people + conversations).forEach(shard.watchers.release) }
                guard !connection.isClosed, let session = connection.session else { return }
                if let refusal = refusal(of: people, conversations, for: connection, session, outcome) {
                    return shard.replies.error(refusal.with(id: id), to: connection)
                }
                let shown = audiences(of: people, for: connection, session)
                shard.watchers.subscribe(connection, to: shown + conversations)
                var answer = SnapshotReply(.subscribed, id: id, limit: shard.configuration.limits.maxServerMessageBytes)
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
                for part in answer.finish() { shard.replies.send(part, to: connection) }
            }
        }
    }

    /// The topics of these people that the connection's user may watch. A watch of another topic ends (only a viewer
    /// with a policy not known yet can have one): the snapshot replaces what it held.
    private func audiences(of people: [Topic], for connection: Connection, _ session: Session) -> [Topic] {
        people.map { person in
            let part = shard.policies.topic(person, for: session.user.id)
            guard person.limited != nil || person.hidden != nil,
                let position = shard.watchers.place(of: person, in: connection)
            else { return part }
            shard.watchers.move(position, of: connection.index, to: part, at: shard.clock.redisNow)
            return part
        }
    }

    private func isBeyondSubscriptions(_ connection: Connection, _ request: ClientMessage.Subscribe) -> Bool {
        let held = shard.watchers.subscriptions(of: connection)
        let wanted = request.users.count + request.conversations.count
        // Mostly there is room for all of them, new or not.
        guard held + wanted > shard.configuration.limits.subscriptions else { return false }
        let topics =
            request.users.compactMap(shard.watchers.person) + request.conversations.compactMap(conversation)
        let unwatched = wanted - topics.count + shard.watchers.unwatched(topics, by: connection)
        return held + unwatched > shard.configuration.limits.subscriptions
    }

    private var tooManySubscriptions: ServerMessage.ErrorMessage {
        .init(
            code: .tooMany,
            message:
                "at most \(shard.configuration.limits.subscriptions) people and conversations watched by one connection"
        )
    }

    /// A refused request has changed nothing, so everything is checked before anything is done.
    private func refusal(
        of people: [Topic], _ conversations: [Topic], for connection: Connection, _ session: Session,
        _ outcome: Topic.RedisOutcome
    ) -> ServerMessage.ErrorMessage? {
        let limit = shard.configuration.limits.subscriptions
        if shard.watchers.subscriptions(of: connection)
            + shard.watchers.unwatched(people + conversations, by: connection) > limit
        {
            shard.metrics.met(.subscriptions)
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

    private func unsubscribe(
        _ connection: Connection, _ id: Int64?, _ users: [UserID], _ conversations: [ConversationID]
    ) {
        connection.leaving += 1
        shard.replies.now(on: connection) { [self] in
            connection.leaving -= 1
            shard.watchers.unsubscribe(
                connection, from: users.compactMap(shard.watchers.person) + conversations.compactMap(conversation))
            var payload: [UInt8] = []
            ServerMessageWriter.unsubscribed(id: id, to: &payload)
            shard.replies.send(payload, to: connection)
        }
    }

    private func get(_ connection: Connection, _ id: Int64?, _ users: [UserID]) {
        let reply = shard.replies.expect(on: connection)
        let people = users.map { shard.watchers.hold(person: $0) }
        shard.loader.load(people, viewer: connection.session?.user.id) { [self] outcome in
            shard.replies.fulfil(reply, on: connection) { [self] in
                defer { people.forEach(shard.watchers.release) }
                guard !connection.isClosed, let session = connection.session else { return }
                guard outcome == .loaded else {
                    return shard.replies.error(
                        .init(
                            id: id, code: .unavailable,
                            message: "the store is out of reach, and not all of these are held here",
                            retryAfter: 1_000), to: connection)
                }
                var answer = SnapshotReply(.users, id: id, limit: shard.configuration.limits.maxServerMessageBytes)
                for each in people.map({ shown($0, to: session.user.id) }) {
                    answer.add(user: each.user, presence: each.presence, profile: each.profile)
                }
                for part in answer.finish() { shard.replies.send(part, to: connection) }
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
    private func read(_ users: [UserID], for viewer: UserID?, done: @escaping ([ReadPerson]?) -> Void) {
        let people = users.map { shard.watchers.hold(person: $0) }
        // What the viewer shows of themselves counts too.
        let own = viewer.map { [shard.watchers.hold(person: $0)] } ?? []
        shard.loader.load(people + own) { [self] outcome in
            defer { (people + own).forEach(shard.watchers.release) }
            guard outcome == .loaded else { return done(nil) }
            done(people.map { shown($0, to: viewer) })
        }
    }

    /// What somebody may see of a person.
    private func shown(_ person: Topic, to viewer: UserID?) -> ReadPerson {
        let view = shard.policies.view(of: person.subject, for: viewer)
        let hidesPresence = view == .nothing || (view == .withoutLastSeen && person.first.isOffline)
        return ReadPerson(
            user: person.subject,
            presence: hidesPresence ? ServerMessageWriter.unknownPresence : person.presenceObject,
            profile: view == .nothing ? ServerMessageWriter.noProfile : person.profileObject)
    }

    // MARK: HTTP

    private func registerRoutes(in registry: inout Registry) {
        registry.route("GET", "/v1/users/{id}", for: .users) { [unowned self] call in
            read(call.ids, call) { $0[0].json }
        }
        registry.route("POST", "/v1/users/get", for: .users) { [unowned self] (call) throws(DecodingFailure) in
            let users = try RequestBody.users(call.body, limit: shard.configuration.limits.subscribeBatch)
            // The first token was taken for the request; what its ids cost, the next one waits for.
            let more = RequestPrice.ids(users.count) - 1
            if let viewer = call.viewer { shard.userRates.take(more, by: viewer, at: shard.clock.now) }
            read(users, call) { people in
                Array(#"{"users":["#.utf8) + people.map(\.json).joined(separator: [0x2C]) + Array("]}".utf8)
            }
        }
    }

    private func read(_ users: [UserID], _ call: HTTPCall, _ json: @escaping ([ReadPerson]) -> [UInt8]) {
        read(users, for: call.viewer) { people in
            guard let people else {
                return call.refuse(
                    503,
                    .init(
                        code: .unavailable, message: "the store is out of reach, and not all of these are held here",
                        retryAfter: 1_000))
            }
            call.respond(.json(200, json(people)))
        }
    }
}

extension Watching.ReadPerson {
    var json: [UInt8] {
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(user.string, to: &json)
        return json + Array(#","presence":"#.utf8) + presence + Array(#","profile":"#.utf8) + profile + [0x7D]
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
