import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The typing users of conversations. Typing is a lease: each event has the remaining ms, and every shard expires it on
/// its own clock, so a lost "stop" does not show a user typing for long.
final class Typing: Feature, TopicKind {
    static let expiry = Setting<Milliseconds>(
        "typing.expiry", 6_000,
        about: "How long one `typing: true` lasts. Clients repeat it while their user types: larger values need fewer "
            + "messages, but show a user as typing for longer after their client has disappeared.")

    static let plan = FeaturePlan(
        name: "typing", scripts: [.typing, .conversation],
        keys: [KeyFamily(name: "typing", isPassing: true, type: "hash", expires: true, holdsNumbers: true)],
        settings: [expiry])

    unowned let shard: ShardLogic
    /// The kind of topic for typing in a conversation.
    private(set) var conversations: TopicKindID!
    private var expiries: DeadlineKind!
    private(set) var retries: DeadlineKind!
    let expiry: Milliseconds
    var talks: Conversations { shard.feature(Conversations.self)! }

    /// Sessions that stopped typing, until Redis has acknowledged the stop (`Typing+Sending.swift`).
    var stops: [Stop] = []

    /// Users who have just become invisible, until their earlier typing has expired everywhere: a server that cannot
    /// reach Redis cannot withdraw that typing.
    private var invisible: [UserID: Milliseconds] = [:]
    var blocked = RecentBlocks()
    /// Topics of conversations in which a user is typing.
    private(set) var active: Set<UInt32> = []

    /// The conversations in which each session types, and since when, by the session's number.
    var typingSessions: [UInt64: [ConversationID: Milliseconds]] = [:]

    init(_ shard: ShardLogic) {
        self.shard = shard
        expiry = shard.configuration[Self.expiry]
    }

    func register(in registry: inout Registry) {
        conversations = registry.topics(self)
        expiries = registry.deadline { [unowned self] key in
            if case .number(let topic) = key { expire(UInt32(topic)) }
        }
        retries = registry.deadline { [unowned self] _ in sendStops() }
        registry.sessionEnded.append { [unowned self] in stop($0) }
        registry.statusChosen.append { [unowned self] status, user in
            if status == .invisible { shard.sessions.users[user]?.sessions.forEach(stop) }
            chose(user, isInvisible: status == .invisible)
        }
        registry.event("T", for: .watchers) { [unowned self] in handle(typing: $0) }
        talks.onMembers.append { [unowned self] in handle(participants: $0) }
        shard.feature(VisibilityRequests.self)?.onChange.append { [unowned self] in handle(visibility: $0) }
        registry.request(
            "typing", decode: { (members, _) throws(DecodingFailure) in try ClientRequest.typing(members) }
        ) {
            [unowned self] request, context in
            shard.write(
                context.connection, context.id, refusing: { ConversationRefusal(rawValue: $0)?.refusal }
            ) { done in
                set(request.typing, in: request.conversation, by: context.session) {
                    done($0 ?? .success(.array([.status("OK")])))
                }
            } succeeded: { [unowned shard] _ in
                shard.replies.ok(context.id, to: context.connection)
            }
        }
    }

    func becameLive() { sendStops() }

    // MARK: Invisible users

    /// A user has chosen a status. An invisible user is not shown typing in any conversation.
    func chose(_ user: UserID, isInvisible: Bool) {
        guard isInvisible else {
            if !invisible.isEmpty { invisible[user] = nil }
            return
        }
        let now = shard.clock.now
        if invisible.count >= 1_000 { invisible = invisible.filter { $0.value > now } }
        invisible[user] = now + expiry
        for index in active.sorted() {
            guard let topic = shard.watchers.topic(index), var state = topic.conversation,
                state.typists.removeValue(forKey: user) != nil
            else { continue }
            state.version += 1
            topic.conversation = state
            publish(topic, at: shard.clock.redisNow, announced: true)
        }
    }

    // MARK: Watched conversations

    func handle(typing event: StoreEvent) {
        guard let topic = shard.watchers.topic(event.subjectBytes, conversations) else { return }
        apply(event.words, version: event.version, at: event.at, to: topic, announced: true)
    }

    /// The participants have changed: former participants must not receive any more.
    func handle(participants event: StoreEvent) {
        guard let topic = shard.watchers.topic(event.subjectBytes, conversations) else { return }
        (topic.state as? ConversationTopic)?.members.replace(with: Set(event.words.compactMap { UserID($0) }))
        setParticipants(of: topic)
    }

    func makeState() -> AnyObject? { ConversationTopic() }

    func read(_ topic: Topic, reply: @escaping StoreReply) {
        let (id, keys) = (topic.subject, shard.partitions.keys(of: topic.subject))
        let call = ScriptCall(
            .conversation, in: keys, ["conversation": keys.conversation(id), "typing": keys.typing(id)])
        (topic.state as? ConversationTopic)?.members.asking(
            { [unowned shard] in shard.run(call, reply: $0) }, reply: reply)
    }

    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool {
        topic.conversation?.participants.contains(user) == false
    }

    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {
        let words = ScriptReply(value).rest.compactMap(\.string)
        guard words.count >= 2, let version = Int64(words[0]) else { return }
        (topic.state as? ConversationTopic)?.members.answered(Set(words[2...].compactMap { UserID($0) }))
        setParticipants(of: topic)
        apply(
            words[1].split(separator: " ").map(String.init), version: version, at: shard.clock.redisNow, to: topic,
            announced: announced)
    }

    /// Removed users receive version 0 and nothing after it; users who were added again receive who is typing.
    private func setParticipants(of topic: Topic) {
        guard let members = (topic.state as? ConversationTopic)?.members else { return }
        topic.conversation?.participants = members.users
        for connection in members.apply(to: topic, in: shard.watchers) {
            var payload: [UInt8] = []
            ServerMessageWriter.typing(
                .init(conversation: topic.subject, version: 0, users: [], at: shard.clock.redisNow), to: &payload)
            shard.replies.send(payload, to: connection)
        }
    }

    /// - Parameter words: `USER:MS` for each typing user.
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
            state.typists[user] = shard.clock.now + min(left, expiry)
        }
        if isBlocked(topic.subject, state.participants) { state.typists = [:] }
        let changed = before != Set(state.typists.keys)
        if changed || version > state.version { state.version = max(version, changed ? state.version + 1 : version) }
        topic.conversation = state
        schedule(topic)
        publish(topic, at: at, announced: announced && changed)
    }

    func expire(_ index: UInt32) {
        guard let topic = shard.watchers.topic(index), var state = topic.conversation else {
            // The topic was removed; its number may be another topic's by now.
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
        shard.deadlines.set(expiries, .number(UInt64(topic.index)), at: first)
    }

    func publish(_ topic: Topic, at: Timestamp, announced: Bool) {
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

/// The scripts of this folder's feature.
extension Script {
    private static let typingLibrary = ScriptLibrary(asset_typing_lib())

    static let typing = Script("typing", asset_typing(), library: typingLibrary)
    static let conversation = Script("conversation", asset_conversation(), library: typingLibrary)
}
