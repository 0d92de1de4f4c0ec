import PresenceProtocol
import Redis
import WebSockets

@testable import PresenceCore
@testable import PresenceServer

/// Users' comments on a poll: a log, whose watchers get every comment once and in order.
///
///     {"type":"comment","poll":"lunch","text":"soup!"}     answered {"type":"commented","number":3}
///     {"type":"watchComments","poll":"lunch","after":1}    answered {"type":"commentsWatched","through":3}, then
///                                                          {"type":"comment","poll":"lunch","number":2,"text":…}, …
///
///     {"type":"commentsLost","poll":"lunch","through":2}   sent when Redis has lost some: those after 2 are void
///
/// Redis has a poll's comments in a list, comment 1 at index 0.
final class Comments: TopicKind {
    static let add = Script("comment", script, isAcknowledged: true)
    static let family = KeyFamily(name: "comments", isPassing: false, type: "list")
    /// The number of comments in one read.
    static let page: Int64 = 100

    private unowned let shard: ShardLogic
    private(set) var kind: TopicKindID!

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.topics(self)
        registry.event("Y", for: .watchers) { [unowned self] in handle($0) }
        registry.request(
            "comment",
            decode: { (members, _) throws(DecodingFailure) in
                (
                    poll: try members.needed(members["poll"], "poll").checkedIdentifier("poll"),
                    text: try members.needed(members.text, "text").string ?? ""
                )
            },
            answer: { [unowned self] in try await comment($0.poll, $0.text, $1) })
        registry.request(
            "watchComments", order: .question,
            decode: { (members, _) throws(DecodingFailure) in
                (
                    poll: try members.needed(members["poll"], "poll").checkedIdentifier("poll"),
                    after: members["after"].flatMap { Int64(String(decoding: $0.bytes, as: UTF8.self)) }
                )
            }
        ) { [unowned self] request, context in watch(request.poll, after: request.after, context) }
    }

    // MARK: Requests

    private func comment(_ poll: Identifier, _ text: String, _ context: RequestContext) async throws(Refusal)
        -> Answer
    {
        let keys = shard.partitions.keys(of: poll)
        let reply = try await shard.run(
            ScriptCall(Self.add, in: keys, ["comments": keys.key(Self.family, poll)], ["poll": poll, "text": text]))
        let number = reply[0].int ?? 0
        return .message(Array(#"{"type":"commented","id":\#(context.id ?? 0),"number":\#(number)}"#.utf8))
    }

    private func watch(_ poll: Identifier, after: Int64?, _ context: RequestContext) {
        let topic = shard.watchers.hold(poll, kind)
        let reply = shard.replies.expect(on: context.connection)
        shard.loader.load([topic]) { [unowned shard] outcome in
            shard.replies.fulfil(reply, on: context.connection) { [unowned shard] in
                defer { shard.watchers.release(topic) }
                guard !context.connection.isClosed else { return }
                guard outcome == .loaded, let log = topic.log else {
                    return shard.replies.error(
                        Refusal(.disconnected(sent: false)).message.with(id: context.id), to: context.connection)
                }
                // Entries follow the number in the answer, which is sent in the same step.
                let through = max(0, after ?? log.last)
                shard.watchers.subscribe(context.connection, to: topic, after: through)
                let answer = #"{"type":"commentsWatched","id":\#(context.id ?? 0),"through":\#(log.last)}"#
                shard.replies.send(Array(answer.utf8), to: context.connection)
            }
        }
    }

    private func handle(_ event: StoreEvent) {
        guard let topic = shard.watchers.topic(event.subjectBytes, kind) else { return }
        let frame = Self.frame(topic, event.version, String(decoding: event.rest, as: UTF8.self))
        if case .hole = shard.watchers.append(frame, sequence: event.version, to: topic) {
            shard.logReader.complete(topic)
        }
    }

    // MARK: Topics

    var keepsLog: Bool { true }
    func makeState() -> AnyObject? { nil }
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool { false }

    /// Reads only the log's end.
    func read(_ topic: Topic, reply: @escaping StoreReply) {
        shard.store.command(["LLEN", key(topic)], lane: .commands, reply: reply)
    }

    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {
        if case .hole = shard.watchers.recordEnd(value.int ?? 0, of: topic) { shard.logReader.complete(topic) }
    }

    /// Reads the end first: of two commands with the same key the first is the older one, and entries may be newer than
    /// the end.
    func readLog(_ topic: Topic, after: Int64, reply: @escaping (Result<LogPage, RedisFailure>) -> Void) {
        shard.store.command(["LLEN", key(topic)], lane: .commands) { [self] end in
            entries(of: topic, after: after, through: after + Self.page) { entries in
                reply(end.flatMap { end in entries.map { LogPage(entries: $0, end: end.int ?? 0) } })
            }
        }
    }

    func restartFrame(of topic: Topic, at end: Int64) -> [UInt8] {
        var json = Array(#"{"type":"commentsLost","poll":"#.utf8)
        JSONWriter.string(topic.subject.string, to: &json)
        return WebSocketFrame.text(json + Array(#","through":\#(end)}"#.utf8))
    }

    func catchUp(_ request: CatchUp) {
        entries(of: request.topic, after: request.after, through: min(request.through, request.after + Self.page)) {
            [unowned shard] result in
            switch result {
            case .success(let entries): shard.catchUps.complete(request, with: entries)
            case .failure: shard.catchUps.fail(request)
            }
        }
    }

    private func entries(
        of topic: Topic, after: Int64, through: Int64, done: @escaping (Result<[LogEntry], RedisFailure>) -> Void
    ) {
        let words = ["LRANGE", key(topic), String(after), String(through - 1)]
        shard.store.command(words, lane: .commands) { result in
            done(
                result.map { value in
                    (value.array ?? []).enumerated().map { index, text in
                        let sequence = after + 1 + Int64(index)
                        return LogEntry(sequence: sequence, frame: Self.frame(topic, sequence, text.string ?? ""))
                    }
                })
        }
    }

    private func key(_ topic: Topic) -> String {
        shard.partitions.keys(of: topic.subject).key(Self.family, topic.subject)
    }

    private static func frame(_ topic: Topic, _ number: Int64, _ text: String) -> [UInt8] {
        var json = Array(#"{"type":"comment","poll":"#.utf8)
        JSONWriter.string(topic.subject.string, to: &json)
        json += Array(#","number":\#(number),"text":"#.utf8)
        JSONWriter.string(text, to: &json)
        return WebSocketFrame.text(json + Array("}".utf8))
    }

    private static let script = """
        -- Stores a comment, and publishes "K poll number at text".
        -- keys: comments
        -- args: poll, text
        -- replies: OK(number) | FENCED
        local number = int(redis.call('RPUSH', commentsKey, text))
        publish(channel, 'Y', poll, number, int(now), text)
        return { 'OK', number }
        """
}
