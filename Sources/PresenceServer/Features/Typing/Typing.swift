import PresenceProtocol
import Redis
import WebSockets

/// Who types where. Typing is a lease: each event says how many ms it still holds, and every shard lets it run out by
/// itself on its own clock, so a lost "stop" leaves nobody typing.
final class Typing {
    private unowned let shard: ShardLogic

    /// Conversations in which one session types at a time; what is older is forgotten, and runs out.
    private static let mostConversations = 64

    /// Sessions that stopped, which Redis has still to be told. More than this are left to run out by themselves.
    private var stops: [Stop] = []
    private static let mostStops = 10_000
    private static let stopPause: Milliseconds = 250

    private struct Stop {
        let conversation: ConversationID
        let user: UserID
        let session: String
        /// When it runs out by itself, on the monotonic clock.
        let until: Milliseconds
    }

    /// Users who have become invisible a moment ago, until what they typed before has run out everywhere: a server that is
    /// out of reach cannot take it back.
    private var invisible: [UserID: Milliseconds] = [:]
    /// Conversations in which somebody types.
    private var active: Set<UInt32> = []

    init(_ shard: ShardLogic) { self.shard = shard }

    // MARK: Our own users

    /// `done` gets what Redis answered, or `nil` where there was nothing to ask.
    func set(
        _ isTyping: Bool, in conversation: ConversationID, by session: Session,
        done: @escaping (Result<RedisValue, RedisFailure>?) -> Void
    ) {
        // Someone invisible is never shown typing.
        if isTyping, session.user.chosen?.status == .invisible { return done(nil) }
        if isTyping {
            if session.typing.count >= Self.mostConversations,
                let oldest = session.typing.min(by: { $0.value < $1.value })?.key
            {
                session.typing[oldest] = nil
            }
            session.typing[conversation] = shard.clock.now
        } else {
            session.typing[conversation] = nil
        }
        say(isTyping, in: conversation, by: session.user.id, session.id, done: done)
    }

    /// The session ended, or its user became invisible.
    func stop(_ session: Session) {
        let expiry = shard.configuration.typing.expiry
        for (conversation, since) in session.typing.sorted(by: { $0.key < $1.key }) {
            guard shard.clock.now - since < expiry else { continue }
            stops.append(
                Stop(conversation: conversation, user: session.user.id, session: session.id, until: since + expiry))
        }
        session.typing.removeAll()
        if stops.count > Self.mostStops { stops.removeFirst(stops.count - Self.mostStops) }
        tellStops()
    }

    /// Tells Redis that some have stopped, again and again until it takes that or their time is over anyway.
    func tellStops() {
        guard !stops.isEmpty, shard.link.isLive else { return }
        let telling = stops.filter { $0.until > shard.clock.now }
        stops = []
        for stop in telling {
            say(false, in: stop.conversation, by: stop.user, stop.session) { [self] result in
                guard case .failure(let failure) = result, failure.isTransient else { return }
                if stops.isEmpty { shard.deadlines.set(.typingStops, at: shard.clock.now + Self.stopPause) }
                stops.append(stop)
                shard.metrics.storeRetries += 1
            }
        }
    }

    private func say(
        _ isTyping: Bool, in conversation: ConversationID, by user: UserID, _ session: String,
        done: @escaping (Result<RedisValue, RedisFailure>) -> Void
    ) {
        let keys = shard.partitions.keys(of: conversation)
        shard.store.run(
            .typing, keys: [keys.shards, keys.floor, keys.conversation(conversation), keys.typing(conversation)],
            arguments: [
                keys.events, shard.link.incarnation, conversation.string, user.string, session,
                isTyping ? "1" : "0", String(shard.configuration.typing.expiry),
            ],
            lane: .commands
        ) { [self] result in
            shard.link.noticeFencing(in: result)
            done(result)
        }
    }

    // MARK: Invisible users

    /// A user has chosen a status: someone invisible is never shown typing, wherever they typed.
    func chose(_ user: UserID, isInvisible: Bool) {
        guard isInvisible else {
            if !invisible.isEmpty { invisible[user] = nil }
            return
        }
        let now = shard.clock.now
        if invisible.count >= 1_000 { invisible = invisible.filter { $0.value > now } }
        invisible[user] = now + shard.configuration.typing.expiry
        for index in active.sorted() {
            guard let topic = shard.watchers.topic(index), var state = topic.conversation,
                state.typists.removeValue(forKey: user) != nil
            else { continue }
            state.version += 1
            topic.conversation = state
            publish(topic, at: shard.clock.redisNow, announced: true)
        }
    }

    // MARK: What is watched

    func handle(typing event: StoreEvent) {
        guard let topic = shard.watchers.conversation(event.subjectBytes) else { return }
        apply(event.words, version: event.version, at: event.at, to: topic, announced: true)
    }

    /// Who takes part has changed: whoever does no longer must not see any more.
    func handle(participants event: StoreEvent) {
        guard let topic = shard.watchers.conversation(event.subjectBytes) else { return }
        setParticipants(Set(event.words.compactMap { UserID($0) }), of: topic)
    }

    func handle(read value: RedisValue, _ topic: Topic, announced: Bool) {
        let words = value.array?.compactMap(\.string) ?? []
        guard words.count >= 2, let version = Int64(words[0]) else { return }
        setParticipants(Set(words[2...].compactMap { UserID($0) }), of: topic)
        apply(
            words[1].split(separator: " ").map(String.init), version: version, at: shard.clock.redisNow, to: topic,
            announced: announced)
    }

    private func setParticipants(_ participants: Set<UserID>, of topic: Topic) {
        topic.conversation?.participants = participants
        let outsiders = topic.watchers.compactMap { shard.watchers.connections[Int($0.connection)] }
            .filter { connection in connection.session.map { !participants.contains($0.user.id) } ?? true }
        // The topic may go with its last watcher.
        topic.holds += 1
        for connection in outsiders {
            shard.watchers.unsubscribe(connection, from: topic)
            var payload: [UInt8] = []
            ServerMessageWriter.typing(
                .init(conversation: topic.subject, version: 0, users: [], at: shard.clock.redisNow), to: &payload)
            shard.replies.send(payload, to: connection)
        }
        shard.watchers.release(topic)
    }

    /// `words`: `USER:MS` of everyone who types.
    private func apply(_ words: [String], version: Int64, at: Timestamp, to topic: Topic, announced: Bool) {
        guard var state = topic.conversation, version >= state.eventVersion || version == 0 else { return }
        state.eventVersion = version
        let before = Set(state.typists.keys)
        state.typists = [:]
        for word in words {
            guard let colon = word.lastIndex(of: ":"), let user = UserID(String(word[..<colon])),
                let left = Milliseconds(word[word.index(after: colon)...])
            else { continue }
            if !invisible.isEmpty, let until = invisible[user], until > shard.clock.now { continue }
            if shard.sessions.users[user]?.chosen?.status == .invisible { continue }
            state.typists[user] = shard.clock.now + min(left, shard.configuration.typing.expiry)
        }
        let changed = before != Set(state.typists.keys)
        if changed || version > state.version { state.version = max(version, changed ? state.version + 1 : version) }
        topic.conversation = state
        schedule(topic)
        publish(topic, at: at, announced: announced && changed)
    }

    func expire(_ index: UInt32) {
        guard let topic = shard.watchers.topic(index), var state = topic.conversation else {
            // The topic has gone; its number may be another's by now.
            active.remove(index)
            return
        }
        let over = state.typists.filter { $0.value <= shard.clock.now }
        if !over.isEmpty {
            for user in over.keys { state.typists[user] = nil }
            state.version += 1
            topic.conversation = state
            publish(topic, at: shard.clock.redisNow, announced: true)
        }
        schedule(topic)
    }

    private func schedule(_ topic: Topic) {
        guard let first = topic.conversation?.typists.values.min() else {
            active.remove(topic.index)
            return
        }
        active.insert(topic.index)
        shard.deadlines.set(.typing(topic: topic.index), at: first)
    }

    private func publish(_ topic: Topic, at: Timestamp, announced: Bool) {
        guard let state = topic.conversation else { return }
        let names = state.names
        var payload: [UInt8] = []
        ServerMessageWriter.typing(
            .init(
                conversation: topic.subject, version: state.version, users: names,
                more: state.typists.count - names.count, at: at), to: &payload)
        shard.watchers.set(
            Register(version: state.version, bytes: WebSocketFrame.text(payload)), .first, on: topic,
            announced: announced)
    }
}
