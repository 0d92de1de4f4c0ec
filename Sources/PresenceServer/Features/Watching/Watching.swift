import PresenceCore
import PresenceProtocol
import WebSockets

/// Requests about other users: subscribe, unsubscribe, get.
final class Watching: Feature {
    static let plan = FeaturePlan(name: "watching", isOptional: false)

    unowned let shard: ShardLogic
    /// Typing users; `nil` if the feature is switched off.
    private lazy var typing = shard.feature(Typing.self)

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.request(
            "subscribe", order: .question,
            price: {
                // A list, or a conversation's messages, costs as much as ten users.
                let lists = ($0.conversationList ? 1 : 0) + ($0.notifications ? 1 : 0)
                let more = 9 * $0.messages.count + 10 * lists
                return RequestPrice.ids($0.users.count + $0.conversations.count + more)
            },
            mayBeLong: { $0.conversationList || $0.notifications || !$0.messages.isEmpty },
            decode: ClientRequest.subscribe
        ) { [unowned self] request, context in subscribe(context.connection, context.id, request) }
        registry.request("unsubscribe", order: .immediate, decode: ClientRequest.unsubscribe) {
            [unowned self] request, context in
            unsubscribe(context.connection, context.id, request)
        }
        registry.request("get", order: .question, price: { RequestPrice.ids($0.count) }, decode: ClientRequest.get) {
            [unowned self] users, context in get(context.connection, context.id, users)
        }
        registerRoutes(in: &registry)
    }

    lazy var talks = shard.feature(Conversations.self)!
    lazy var messages = shard.feature(Messages.self)
    lazy var notifications = shard.feature(Notifications.self)

    /// The topics of a conversation that a connection may watch: typing, and the messages.
    private func topics(of id: ConversationID, withMessages: Bool = true) -> [Topic] {
        let kinds = [typing?.conversations, withMessages ? messages?.logs.kind : nil].compactMap { $0 }
        return kinds.compactMap { shard.watchers.topic(id, $0) }
    }

    private func subscribe(_ connection: Connection, _ id: Int64?, _ request: ClientMessage.Subscribe) {
        // A local copy: the property is unowned, and each access counts references.
        let shard = shard
        // Checked before any read: a refused request costs Redis nothing. A pending request to unsubscribe may make
        // room; in that case the check waits for this request's turn.
        if connection.leaving == 0, isBeyondSubscriptions(connection, request) {
            shard.metrics.met(.subscriptions)
            return shard.refuse(tooManySubscriptions.with(id: id), on: connection)
        }
        if let missing = isMissing(request) {
            return shard.refuse(
                .init(id: id, code: .unknownType, message: "\(missing) are not watched on this server"),
                on: connection)
        }
        let people = request.users.map { shard.watchers.hold(person: $0) }
        let conversations = request.conversations.compactMap { id in
            typing.map { shard.watchers.hold(id, $0.conversations) }
        }
        let logs = request.conversations.filter { request.messages[$0] != nil }.compactMap { id in
            messages.map { shard.watchers.hold(id, $0.logs.kind) }
        }
        let all = conversations.isEmpty && logs.isEmpty ? people : people + conversations + logs
        let reply = shard.replies.expect(on: connection)
        gather(request, all, for: connection) { [self] gathered in
            // The snapshot is taken, and watching begins, when it is the answer's turn. So there is no gap, and no
            // event precedes the answer.
            shard.replies.fulfil(reply, on: connection) { [self] in
                defer {
                    all.forEach(shard.watchers.release)
                    gathered.subscriber.map(talks.lists.cancel)
                    if let watcher = gathered.watcher { notifications?.inboxes.cancel(watcher) }
                }
                guard !connection.isClosed, let session = connection.session else { return }
                if let refusal = refusal(of: all, conversations, logs, for: connection, session, gathered) {
                    return shard.replies.error(refusal.with(id: id), to: connection)
                }
                let shown = views(of: people, for: connection, session)
                shard.watchers.subscribe(connection, to: conversations.isEmpty ? shown : shown + conversations)
                for log in logs {
                    guard let snapshot = gathered.messages[log.subject] else { continue }
                    shard.watchers.subscribe(connection, to: log, after: snapshot.through)
                }
                sendReply(request, id, shown, conversations, gathered, to: connection)
            }
        }
    }

    /// The requested part that belongs to a feature which is switched off.
    private func isMissing(_ request: ClientMessage.Subscribe) -> String? {
        if !request.messages.isEmpty, messages == nil { return "messages" }
        // Without typing, such a conversation has nothing to watch.
        if typing == nil, request.conversations.contains(where: { request.messages[$0] == nil }) {
            return "typing users"
        }
        return request.notifications && notifications == nil ? "notifications" : nil
    }

    private func sendReply(
        _ request: ClientMessage.Subscribe, _ id: Int64?, _ shown: [Topic], _ conversations: [Topic],
        _ gathered: Gathered, to connection: Connection
    ) {
        var answer = SnapshotReply(
            .subscribed, id: id, limit: shard.configuration.limits.maxServerMessageBytes, people: shown.count)
        if !gathered.messages.isEmpty { answer.beginMessages() }
        for topic in shown {
            let known = request.known[topic.subject]
            topic.add(
                to: &answer, presence: topic.first.version != known?.presence,
                profile: topic.second.version != known?.profile)
        }
        for (place, subject) in request.conversations.enumerated() {
            // Without the feature of typing there is no topic.
            let state = conversations.isEmpty ? nil : conversations[place].conversation
            let talk = ServerMessage.ConversationSnapshot(
                conversation: subject, version: state?.version ?? 0, typing: state?.names ?? [])
            if let snapshot = gathered.messages[subject] {
                let limit = shard.configuration.limits.maxServerMessageBytes - 128
                for object in snapshot.objects(talk.opened(), limit: limit) { answer.add(conversation: object) }
            } else {
                answer.add(talk)
            }
        }
        if let subscriber = gathered.subscriber {
            answer.beginConversationList()
            for object in gathered.list { answer.add(listed: object) }
            talks.lists.ready(subscriber)
        }
        if let watcher = gathered.watcher, let reading = gathered.notifications {
            answer.begin(notifications: reading.head)
            for item in reading.items where !item.json.isEmpty { answer.add(notification: item.object) }
            notifications?.inboxes.ready(watcher, reading)
        }
        for part in (consume answer).finish() { shard.replies.send(part, to: connection) }
    }

    /// The topics of these users that the connection's user may watch. A watch of another topic of the same user ends,
    /// because the snapshot replaces it (only a viewer whose policy is not known yet can have such a watch).
    private func views(of people: [Topic], for connection: Connection, _ session: Session) -> [Topic] {
        let (shard, policies, user) = (shard, shard.policies!, session.user.id)
        return people.map { person in
            let part = policies.topic(person, for: user)
            guard person.limited != nil || person.hidden != nil,
                let position = shard.watchers.place(of: person, in: connection)
            else { return part }
            shard.watchers.move(position, of: connection.index, to: part, at: shard.clock.redisNow)
            return part
        }
    }

    private func isBeyondSubscriptions(_ connection: Connection, _ request: ClientMessage.Subscribe) -> Bool {
        let held = shard.watchers.subscriptions(of: connection)
        let talking = typing == nil ? 0 : request.conversations.count
        let wanted = request.users.count + talking + request.messages.count
        // Usually there is room for all of them, even if all are new.
        guard held + wanted > shard.configuration.limits.subscriptions else { return false }
        let people: [Topic] = request.users.compactMap { shard.watchers.person($0) }
        let talks: [Topic] = request.conversations.flatMap { id in
            topics(of: id, withMessages: request.messages[id] != nil)
        }
        let all = people + talks
        let unwatched = wanted - all.count + shard.watchers.unwatched(all, by: connection)
        return held + unwatched > shard.configuration.limits.subscriptions
    }

    private var tooManySubscriptions: ServerMessage.ErrorMessage {
        .init(
            code: .tooMany,
            message:
                "at most \(shard.configuration.limits.subscriptions) people and conversations watched by one connection"
        )
    }

    /// A refused request changes nothing, so everything is checked first.
    private func refusal(
        of all: [Topic], _ conversations: [Topic], _ logs: [Topic], for connection: Connection, _ session: Session,
        _ gathered: Gathered
    ) -> ServerMessage.ErrorMessage? {
        let limit = shard.configuration.limits.subscriptions
        let held = shard.watchers.subscriptions(of: connection)
        // Usually there is room for all of them, even if all are new.
        if held + all.count > limit, held + shard.watchers.unwatched(all, by: connection) > limit {
            shard.metrics.met(.subscriptions)
            return tooManySubscriptions
        }
        if gathered.obstacles.contains(.unreachable) { return Refusal.notHeld.message }
        if gathered.obstacles.contains(.damaged) {
            return .init(code: .internal, message: "the server could not read all of these")
        }
        let user = session.user.id
        if gathered.obstacles.contains(.forbidden)
            || conversations.contains(where: { $0.conversation?.participants.contains(user) != true })
            || logs.contains(where: { messages?.logs.isMember(user, of: $0) != true })
        {
            return .init(code: .forbidden, message: "only participants may watch a conversation")
        }
        return nil
    }

    private func unsubscribe(_ connection: Connection, _ id: Int64?, _ request: ClientRequest.Unwatched) {
        connection.leaving += 1
        shard.replies.now(on: connection) { [self] in
            connection.leaving -= 1
            let talks = request.conversations.flatMap { self.topics(of: $0) }
            shard.watchers.unsubscribe(
                connection, from: request.users.compactMap(shard.watchers.person) + talks)
            if request.conversationList { self.talks.lists.unsubscribe(connection) }
            if request.notifications { notifications?.inboxes.unsubscribe(connection) }
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
                    return shard.replies.error(Refusal.notHeld.message.with(id: id), to: connection)
                }
                var answer = SnapshotReply(
                    .users, id: id, limit: shard.configuration.limits.maxServerMessageBytes, people: people.count)
                for each in people.map({ shown($0, to: session.user.id) }) {
                    answer.add(user: each.user, presence: each.presence, profile: each.profile)
                }
                for part in (consume answer).finish() { shard.replies.send(part, to: connection) }
            }
        }
    }
}
