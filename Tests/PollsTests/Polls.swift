import PresenceProtocol
import Redis
import WebSockets

@testable import PresenceCore
@testable import PresenceServer

/// Polls: users vote on a question and watch the counts. An external feature: it uses every extension point of
/// features, and nothing in Sources refers to it.
///
///     {"type":"vote","poll":"lunch","choice":"soup"}   answered {"type":"voted",…,"counts":{"soup":3}}
///     {"type":"watchPoll","poll":"lunch"}              answered {"type":"pollWatched"}, then {"type":"poll",…} at each vote
///     {"type":"tally","ballots":["soup","pie","soup"]} answered {"type":"tallied",…,"winner":"soup"}, counted off the loop
///     GET /v1/polls/{id}                               {"poll":"lunch","counts":{"soup":3}}
///     GET /v1/polls/{id}/winner                        {"winner":"soup"}, computed off the loop
final class Polls: Feature, TopicKind {
    static let duration = Setting<Milliseconds>(
        "polls.duration", 60_000, about: "How long a poll is open after its last vote on this server.")

    static let vote = Script("vote", script, isAcknowledged: true)
    static let family = KeyFamily(name: "poll", isPassing: false, type: "hash")
    static let waiting = Setting<Int>(
        "polls.waiting", 100, in: 0...10_000, about: "How many tallies wait for a thread before more are refused.")
    static let tallies = WorkerPlan(
        "tallies", threads: { _ in 1 }, queue: { Int($0[waiting]) }, hasLowPriority: true)
    static let plan = FeaturePlan(
        name: "polls", scripts: [vote, Comments.add], keys: [family, Comments.family],
        settings: [duration, waiting, PollListener.address], pools: [tallies, PollListener.pool])

    private unowned let shard: ShardLogic
    private var kind: TopicKindID!
    private var ends: DeadlineKind!
    private var votes: MetricCounter!
    private var own: OwnMessages = []
    /// The users' comments on polls.
    let comments: Comments
    let pictures: Pictures
    private let listener: PollListener
    /// The time at which each poll ends on this shard, by its id.
    private var endings: [Identifier: Milliseconds] = [:]
    /// The functions called after a break.
    private(set) var steps: [String] = []

    init(_ shard: ShardLogic) {
        self.shard = shard
        comments = Comments(shard)
        pictures = Pictures(shard)
        listener = PollListener(shard)
    }

    func register(in registry: inout Registry) {
        comments.register(in: &registry)
        pictures.register(in: &registry)
        listener.register(in: &registry)
        kind = registry.topics(self)
        ends = registry.deadline { [unowned self] key in if case .id(let poll) = key { end(poll) } }
        votes = registry.counter("poll_votes_total", help: "votes in polls")
        registry.gauge("polls_open", help: "polls that have had a vote here and have not ended") { [unowned self] in
            endings.count
        }
        own = registry.ownMessage { _ in WebSocketFrame.text(Array(#"{"type":"youVoted"}"#.utf8)) }
        registry.event("L", for: .watchers) { [unowned self] in handle($0) }
        registry.request(
            "vote", price: { _ in 2 },
            decode: { (members, _) throws(DecodingFailure) in
                (
                    poll: try members.needed(members["poll"], "poll").checkedIdentifier("poll"),
                    choice: try members.needed(members["choice"], "choice").checkedIdentifier("choice")
                )
            },
            answer: { [unowned self] in try await vote($0.poll, $0.choice, $1) })
        registry.request(
            "watchPoll", order: .question,
            decode: { (members, _) throws(DecodingFailure) in
                try members.needed(members["poll"], "poll").checkedIdentifier("poll")
            }
        ) { [unowned self] poll, context in watch(poll, context) }
        registry.request(
            "tally", order: .question, decode: Self.ballots, answer: { [unowned self] in try await tally($0, $1) })
        registry.route(
            "GET", "/v1/polls/{id}/winner", for: .users,
            answer: { [unowned self] call in
                let counts = try await counts(of: call.ids[0])
                let winner = try await call.work(Self.tallies) { Self.winner(of: counts) }
                return .json(200, #"{"winner":"\#(winner)"}"#)
            })
        registry.route(
            "GET", "/v1/polls/{id}", for: .users,
            answer: { [unowned self] call in
                .json(200, Self.object(call.ids[0], try await counts(of: call.ids[0])))
            })
    }

    func becameStale() { steps.append("stale") }
    func storeAgain() async throws(RedisFailure) { steps.append("store") }
    func readAgain() async throws(RedisFailure) { steps.append("read") }
    func becameLive() { steps.append("live") }

    // MARK: Requests

    private func vote(_ poll: Identifier, _ choice: Identifier, _ context: RequestContext) async throws(Refusal)
        -> Answer
    {
        let keys = shard.partitions.keys(of: poll)
        let reply = try await shard.run(
            ScriptCall(Self.vote, in: keys, ["poll": keys.key(Self.family, poll)], ["id": poll, "choice": choice]))
        votes.value += 1
        let end = shard.clock.now + shard.configuration[Self.duration]
        endings[poll] = end
        shard.deadlines.set(ends, .id(poll), at: end)
        shard.watchers.markMail(context.connection, own)
        var answer = Array(#"{"type":"voted","id":\#(context.id ?? 0),"#.utf8)
        answer += Self.object(poll, Self.counts(.array(Array(reply.rest)))).dropFirst()
        return .message(answer)
    }

    private func counts(of poll: Identifier) async throws(Refusal) -> [(String, Int)] {
        Self.counts(try await shard.run("HGETALL", shard.partitions.keys(of: poll).key(Self.family, poll)))
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
                let answer = #"{"type":"pollWatched","id":\#(context.id ?? 0),"version":\#(topic.first.version)}"#
                shard.replies.send(Array(answer.utf8), to: context.connection)
            }
        }
    }

    private static func ballots(
        _ members: ClientMembers, _ limits: ConnectionLimits
    ) throws(DecodingFailure) -> [String] {
        let list = try members.needed(members["ballots"], "ballots")
        var scanner = JSONScanner(list)
        var ballots: [String] = []
        do {
            try scanner.beginArray()
            while try scanner.nextElement() { ballots.append(try scanner.value().string ?? "") }
        } catch {
            throw .wrongKind("ballots", wanted: "a list")
        }
        return ballots
    }

    private func tally(_ ballots: [String], _ context: RequestContext) async throws(Refusal) -> Answer {
        let winner = try await context.work(Self.tallies) {
            Self.winner(of: Dictionary(grouping: ballots, by: \.self).map { ($0.key, $0.value.count) })
        }
        return .message(Array(#"{"type":"tallied","id":\#(context.id ?? 0),"winner":"\#(winner)"}"#.utf8))
    }

    /// With equal votes, the alphabetically first choice.
    private static func winner(of counts: [(String, Int)]) -> String {
        counts.max { ($0.1, $1.0) < ($1.1, $0.0) }?.0 ?? ""
    }

    private func end(_ poll: Identifier) {
        guard let end = endings[poll], end <= shard.clock.now else { return }
        endings[poll] = nil
        listener.notifyEnd(of: poll)
        guard let topic = shard.watchers.topic(poll, kind) else { return }
        publish(topic, version: topic.first.version + 1, Array(#"{"type":"pollEnded","poll":"\#(poll.string)"}"#.utf8))
    }

    // MARK: Topics

    func makeState() -> AnyObject? { nil }
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool { false }

    func read(_ topic: Topic, reply: @escaping StoreReply) { read(topic.subject, reply: reply) }

    private func read(_ poll: Identifier, reply: @escaping StoreReply) {
        shard.store.command(["HGETALL", shard.partitions.keys(of: poll).key(Self.family, poll)], lane: .commands) {
            reply($0.map { .array([.status("OK")] + ($0.array ?? [])) })
        }
    }

    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {
        let fields = value.array?.dropFirst().compactMap(\.string) ?? []
        let pairs = stride(from: 0, to: fields.count - 1, by: 2).map { (fields[$0], fields[$0 + 1]) }
        guard let version = pairs.first(where: { $0.0 == "#" }).flatMap({ Int64($0.1) }), version > topic.first.version
        else { return }
        show(topic, version: version, Self.counts(value), announced: announced)
    }

    private func handle(_ event: StoreEvent) {
        guard let topic = shard.watchers.topic(event.subjectBytes, kind), event.version > topic.first.version else {
            return
        }
        let counts = event.words.compactMap { word -> (String, Int)? in
            guard let colon = word.lastIndex(of: ":"), let count = Int(word[word.index(after: colon)...]) else {
                return nil
            }
            return (String(word[..<colon]), count)
        }
        show(topic, version: event.version, counts, announced: true)
    }

    private func show(_ topic: Topic, version: Int64, _ counts: [(String, Int)], announced: Bool) {
        let message =
            Array(#"{"type":"poll","version":\#(version),"#.utf8) + Self.object(topic.subject, counts).dropFirst()
        publish(topic, version: version, message, announced: announced)
    }

    private func publish(_ topic: Topic, version: Int64, _ message: [UInt8], announced: Bool = true) {
        shard.watchers.set(
            Register(version: version, bytes: WebSocketFrame.text(message)), .first, on: topic, announced: announced)
    }

    /// The choices of `OK, choice, count, …`, in order.
    private static func counts(_ value: RedisValue) -> [(String, Int)] {
        let fields = (value.array ?? []).compactMap(\.string)
        let start = fields.first == "OK" ? 1 : 0
        return stride(from: start, to: fields.count - 1, by: 2).map { (fields[$0], Int(fields[$0 + 1]) ?? 0) }
            .filter { $0.0 != "#" }.sorted { $0.0 < $1.0 }
    }

    private static func object(_ poll: Identifier, _ counts: [(String, Int)]) -> [UInt8] {
        var json = Array(#"{"poll":"#.utf8)
        JSONWriter.string(poll.string, to: &json)
        json += Array(#","counts":{"#.utf8)
        for (index, (choice, count)) in counts.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            JSONWriter.string(choice, to: &json)
            json += Array(":\(count)".utf8)
        }
        return json + Array("}}".utf8)
    }

    private static let script = """
        -- Counts a vote, and publishes "L poll version at choice:count …".
        -- keys: poll
        -- args: id of the poll, choice
        -- replies: OK(choice, count …) | FENCED
        local version = nextVersion(redis.call('HGET', pollKey, '#'), floorKey)
        redis.call('HINCRBY', pollKey, choice, 1)
        redis.call('HSET', pollKey, '#', int(version))
        local fields, list = redis.call('HGETALL', pollKey), {}
        for i = 1, #fields, 2 do
            if fields[i] ~= '#' then list[#list + 1] = fields[i] .. ':' .. fields[i + 1] end
        end
        publish(channel, 'L', id, int(version), int(now), table.concat(list, ' '))
        return { 'OK', unpack(fields) }
        """
}
