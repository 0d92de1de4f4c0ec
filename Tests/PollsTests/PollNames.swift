import PresenceProtocol
import Redis
import WebSockets

@testable import PresenceCore
@testable import PresenceServer

/// Short names of polls: each poll has at most one, and each name at most one poll. A poll and its name are in different
/// partitions, so a change is an intent.
///
///     {"type":"namePoll","poll":"lunch-2031","name":"Lunch"}   answered {"type":"pollNamed"} or an error `conflict`
///     {"type":"unnamePoll","poll":"lunch-2031"}                answered {"type":"pollNamed"}
///     {"type":"watchPollName","poll":"lunch-2031"}             answered {"type":"pollNameWatched"}, then {"type":"pollName",…}
final class PollNames: Feature, TopicKind {
    static let names = ClaimPlan("pollname", record: "pollname", claim: "poll-of", change: ("pollname-change", script))
    static let plan = FeaturePlan(name: "pollNames", claims: [names])

    private unowned let shard: ShardLogic
    private var claiming: Claiming!
    private var kind: TopicKindID!

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        claiming = Claiming(Self.names, shard, in: &registry) { wish, keys in
            ScriptCall(
                Self.names.change, in: keys,
                ["unfinished": keys.unfinished, "record": Self.names.record(of: wish.owner, in: keys)],
                ["intent": wish.intent, "poll": wish.owner, "number": wish.number])
        }
        kind = registry.topics(self)
        registry.event("W", offers: true) { [unowned self] in handle($0) }
        registry.request(
            "namePoll",
            decode: { (members, _) throws(DecodingFailure) in
                (
                    poll: try Self.poll(members),
                    name: try members.needed(members["name"], "name").checkedIdentifier("name")
                )
            },
            answer: { [unowned self] (request, context) async throws(Refusal) in
                let thing = Identifier(request.name.string.lowercased())!
                return try await want(thing, request.name.string, for: request.poll, context)
            })
        registry.request(
            "unnamePoll", decode: { (members, _) throws(DecodingFailure) in try Self.poll(members) },
            answer: { [unowned self] (poll, context) async throws(Refusal) in
                try await want(nil, "", for: poll, context)
            })
        registry.request("watchPollName", decode: { (members, _) throws(DecodingFailure) in try Self.poll(members) }) {
            [unowned self] poll, context in watch(poll, context)
        }
    }

    private static func poll(_ members: ClientMembers) throws(DecodingFailure) -> Identifier {
        try members.needed(members["poll"], "poll").checkedIdentifier("poll")
    }

    private func want(
        _ thing: Identifier?, _ shown: String, for poll: Identifier, _ context: RequestContext
    ) async throws(Refusal) -> Answer {
        guard try await claiming.want(thing, as: shown, for: poll)[0].string == "HELD" else {
            throw Refusal(.conflict, "another poll has this name", field: "name")
        }
        return .message(Array(#"{"type":"pollNamed","id":\#(context.id ?? 0)}"#.utf8))
    }

    private func watch(_ poll: Identifier, _ context: RequestContext) {
        let topic = shard.watchers.hold(poll, kind)
        let reply = shard.replies.expect(on: context.connection)
        shard.loader.load([topic]) { [unowned shard] outcome in
            shard.replies.fulfil(reply, on: context.connection) { [unowned shard] in
                defer { shard.watchers.release(topic) }
                guard outcome == .loaded else {
                    return shard.replies.error(
                        Refusal(.disconnected(sent: false)).message.with(id: context.id), to: context.connection)
                }
                shard.watchers.subscribe(context.connection, to: [topic])
                let answer = #"{"type":"pollNameWatched","id":\#(context.id ?? 0)}"#
                shard.replies.send(Array(answer.utf8), to: context.connection)
            }
        }
    }

    // MARK: Topics

    func makeState() -> AnyObject? { nil }
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool { false }

    func read(_ topic: Topic, reply: @escaping StoreReply) {
        let key = Self.names.record(of: topic.subject, in: shard.partitions.keys(of: topic.subject))
        shard.store.command(["HMGET", key, "#", "heldAs", "held"], lane: .commands) {
            reply($0.map { .array([.status("OK")] + ($0.array ?? [])) })
        }
    }

    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {
        let words = value.array ?? []
        guard words.count > 3, let version = words[1].int else { return }
        show(topic, Int64(version), words[2].string ?? words[3].string, announced: announced)
    }

    private func handle(_ event: StoreEvent) {
        guard let topic = shard.watchers.topic(event.subjectBytes, kind) else { return }
        show(topic, event.version, event.words.first.map { String($0) }, announced: true)
    }

    private func show(_ topic: Topic, _ version: Int64, _ name: String?, announced: Bool) {
        guard version > topic.first.version else { return }
        let name = name.map { #","name":"\#($0)""# } ?? ""
        let message = #"{"type":"pollName","poll":"\#(topic.subject.string)","version":\#(version)\#(name)}"#
        shard.watchers.set(
            Register(version: version, bytes: WebSocketFrame.text(Array(message.utf8))), .first, on: topic,
            announced: announced)
    }

    /// Publishes "W poll version at name", without a name if the poll has none.
    private static let script = """
        -- A poll has another name from now on.
        -- keys: unfinished, record
        -- args: intent, poll, number
        -- replies: OK(releasing) | GONE(last) | FENCED
        local reply, isChanged = fulfil(recordKey, number)
        if isChanged then
            local version = int(nextVersion(redis.call('HGET', recordKey, '#'), floorKey))
            redis.call('HSET', recordKey, '#', version)
            local name = shownOf(recordKey)
            redis.call('PUBLISH', channel, table.concat({ 'W', poll, version, int(now), name or nil }, ' '))
        end
        return reply
        """
}
