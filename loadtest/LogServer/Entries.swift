import EventLoops
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Logs and values in the server's memory, to measure the cost of the core's topics without Redis.
///
///     {"type":"watchLog","log":"a","after":7}          answered {"type":"logWatched","through":9}, then
///                                                      {"type":"entry","log":"a","number":8,"text":…}, …
///     {"type":"append","log":"a","text":"x"}           answered {"type":"appended"}
///     {"type":"run","log":"a","rate":10000,"entries":600000,"bytes":200}
///                                                      answered {"type":"running","began":µs}: entries are appended by the
///                                                      clock, number n after n ÷ rate seconds
///     {"type":"watchValue","value":"a"}                answered {"type":"valueWatched"}, then {"type":"value",…}
///     {"type":"set","value":"a","text":"x"}            answered {"type":"valueSet"}
///
/// A running log stores none of its entries: each is computed from its number on demand. So the growth of the server's
/// memory is what the core stores for the log's readers.
final class Entries: Feature, TopicKind {
    static let plan = FeaturePlan(name: "entries")
    /// The number of entries read at once, as for messages.
    private static let page: Int64 = 100

    private unowned let shard: ShardLogic
    private var kind: TopicKindID!
    private var due: DeadlineKind!
    private var logs: [Identifier: Log] = [:]
    private let values: Values

    /// A log's entries: first those that requests appended, then computed ones.
    private struct Log {
        var last: Int64 = 0
        var kept: [[UInt8]] = []
        var running: Running?
    }

    private struct Running {
        /// The log's last entry when the run began.
        let after: Int64
        let entries: Int64
        let rate: Int64
        let bytes: Int
        /// In microseconds of the monotonic clock.
        let began: Int64
    }

    init(_ shard: ShardLogic) {
        self.shard = shard
        values = Values(shard)
    }

    func register(in registry: inout Registry) {
        values.register(in: &registry)
        kind = registry.topics(self)
        due = registry.deadline { [unowned self] key in if case .id(let log) = key { appendDue(log) } }
        registry.request(
            "watchLog",
            decode: { (members, _) throws(DecodingFailure) in
                (
                    log: try members.needed(members["log"], "log").checkedIdentifier("log"),
                    after: try members["after"].map { (value) throws(DecodingFailure) in
                        try value.checkedInteger("after")
                    }
                )
            }
        ) { [unowned self] request, context in watch(request.log, after: request.after, context) }
        registry.request(
            "append", order: .immediate,
            decode: { (members, _) throws(DecodingFailure) in
                (
                    log: try members.needed(members["log"], "log").checkedIdentifier("log"),
                    text: try members.needed(members.text, "text").checkedString("text")
                )
            }
        ) { [unowned self] request, context in append(request.text, to: request.log, context) }
        registry.request("run", decode: Self.running) { [unowned self] request, context in
            run(request.log, rate: request.rate, entries: request.entries, bytes: request.bytes, context)
        }
    }

    private static func running(
        _ members: ClientMembers, _ limits: ConnectionLimits
    ) throws(DecodingFailure) -> (log: Identifier, rate: Int64, entries: Int64, bytes: Int) {
        let log = try members.needed(members["log"], "log").checkedIdentifier("log")
        let rate = try members.needed(members["rate"], "rate").checkedInteger("rate")
        let entries = try members.needed(members["entries"], "entries").checkedInteger("entries")
        let bytes = try members.needed(members["bytes"], "bytes").checkedInteger("bytes")
        guard (1...1_000_000).contains(rate) else { throw .invalid("rate", "must be from 1 to 1000000") }
        guard (1...1_000_000_000).contains(entries) else { throw .invalid("entries", "must be from 1 to 1000000000") }
        guard (0...60_000).contains(bytes) else { throw .invalid("bytes", "must be from 0 to 60000") }
        return (log, rate, entries, Int(bytes))
    }

    // MARK: Requests

    private func watch(_ log: Identifier, after: Int64?, _ context: RequestContext) {
        let topic = shard.watchers.hold(log, kind)
        let reply = shard.replies.expect(on: context.connection)
        shard.loader.load([topic]) { [unowned self, unowned shard] outcome in
            shard.replies.fulfil(reply, on: context.connection) { [unowned self, unowned shard] in
                defer { shard.watchers.release(topic) }
                guard !context.connection.isClosed else { return }
                guard outcome == .loaded else {
                    let refusal = ServerMessage.ErrorMessage(
                        id: context.id, code: .unavailable, message: "Redis is out of reach")
                    return shard.replies.error(refusal, to: context.connection)
                }
                let last = logs[log]?.last ?? 0
                shard.watchers.subscribe(context.connection, to: topic, after: max(0, after ?? last))
                sendReply("logWatched", #","through":\#(last)"#, context)
            }
        }
    }

    private func append(_ text: String, to log: Identifier, _ context: RequestContext) {
        guard logs[log]?.running == nil else {
            return refuseRunning(context)
        }
        let number = (logs[log]?.last ?? 0) + 1
        let frame = Self.frame(log, number, text)
        logs[log, default: Log()].kept.append(frame)
        logs[log]?.last = number
        if let topic = shard.watchers.topic(log, kind) { shard.watchers.append(frame, sequence: number, to: topic) }
        sendReply("appended", "", context)
    }

    private func run(_ log: Identifier, rate: Int64, entries: Int64, bytes: Int, _ context: RequestContext) {
        guard logs[log]?.running == nil else {
            return refuseRunning(context)
        }
        let began = MonotonicClock.microseconds
        let last = logs[log]?.last ?? 0
        logs[log, default: Log()].running = Running(
            after: last, entries: entries, rate: rate, bytes: bytes, began: began)
        sendReply("running", #","began":\#(began)"#, context)
        shard.deadlines.set(due, .id(log), at: shard.clock.now + 1)
    }

    private func sendReply(_ type: String, _ members: String, _ context: RequestContext) {
        shard.replies.send(
            Array(#"{"type":"\#(type)","id":\#(context.id ?? 0)\#(members)}"#.utf8), to: context.connection)
    }

    private func refuseRunning(_ context: RequestContext) {
        let refusal = ServerMessage.ErrorMessage(id: context.id, code: .conflict, message: "the log runs")
        shard.replies.error(refusal, to: context.connection)
    }

    /// Appends the entries that are due.
    private func appendDue(_ id: Identifier) {
        guard var log = logs[id], let running = log.running else { return }
        let passed = MonotonicClock.microseconds - running.began
        let newest = running.after + min(running.entries, passed * running.rate / 1_000_000)
        if let topic = shard.watchers.topic(id, kind) {
            while log.last < newest {
                log.last += 1
                shard.watchers.append(frame(log.last, of: log, id), sequence: log.last, to: topic)
            }
        }
        log.last = newest
        logs[id]?.last = newest
        if newest < running.after + running.entries { shard.deadlines.set(due, .id(id), at: shard.clock.now + 1) }
    }

    // MARK: Watching

    var keepsLog: Bool { true }
    func makeState() -> AnyObject? { nil }
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool { false }

    /// The end of the log. Answers after Redis has, as for other topics.
    func read(_ topic: Topic, reply: @escaping StoreReply) {
        shard.store.command(["PING"], lane: .commands) { [unowned self] answer in
            reply(answer.map { _ in .integer(logs[topic.subject]?.last ?? 0) })
        }
    }

    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {
        if case .hole = shard.watchers.recordEnd(value.int ?? 0, of: topic) { shard.logReader.complete(topic) }
    }

    func readLog(_ topic: Topic, after: Int64, reply: @escaping (Result<LogPage, RedisFailure>) -> Void) {
        let end = logs[topic.subject]?.last ?? 0
        reply(.success(LogPage(entries: entries(of: topic, after: after, through: after + Self.page), end: end)))
    }

    func catchUp(_ request: CatchUp) {
        let through = min(request.through, request.after + Self.page)
        shard.catchUps.complete(request, with: entries(of: request.topic, after: request.after, through: through))
    }

    func restartFrame(of topic: Topic, at end: Int64) -> [UInt8] {
        WebSocketFrame.text(Array(#"{"type":"logLost","through":\#(end)}"#.utf8))
    }

    private func entries(of topic: Topic, after: Int64, through: Int64) -> [LogEntry] {
        guard let log = logs[topic.subject] else { return [] }
        let last = min(through, log.last)
        guard last > after else { return [] }
        return (after + 1...last).map { LogEntry(sequence: $0, frame: frame($0, of: log, topic.subject)) }
    }

    private func frame(_ number: Int64, of log: Log, _ id: Identifier) -> [UInt8] {
        if number <= log.kept.count { return log.kept[Int(number) - 1] }
        return Self.frame(id, number, String(repeating: "x", count: log.running?.bytes ?? 0))
    }

    private static func frame(_ log: Identifier, _ number: Int64, _ text: String) -> [UInt8] {
        var json = Array(#"{"type":"entry","log":"#.utf8)
        JSONWriter.string(log.string, to: &json)
        json += Array(#","number":\#(number),"text":"#.utf8)
        JSONWriter.string(text, to: &json)
        return WebSocketFrame.text(json + Array("}".utf8))
    }
}
