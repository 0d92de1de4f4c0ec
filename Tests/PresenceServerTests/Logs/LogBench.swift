import PresenceProtocol
import Redis
import WebSockets

@testable import PresenceCore

/// Fan-out with logs, between a store that has every entry and sockets that record their writes.
///
/// Its messages are text: `e3,17,…;` is entry 17 of topic 3, `p2,5;` version 5 of person 2.
final class LogBench: TopicKind {
    final class NotingSockets: Sockets {
        var written: [UInt32: [UInt8]] = [:]
        var writes: [UInt32: Int] = [:]
        var longest = 0
        /// Sockets that accept one more write and are congested then.
        var slow: Set<UInt32> = []

        func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult {
            written[socket.index, default: []] += bytes
            writes[socket.index, default: 0] += 1
            longest = max(longest, bytes.count)
            return slow.contains(socket.index) ? .congested : .written
        }
        func ping(_ socket: SocketID) {}
        func silence(of socket: SocketID) -> Milliseconds? { nil }
        func close(_ socket: SocketID, code: CloseCode, reason: String) {}
        func hasHungUp(_ socket: SocketID) -> Bool { false }
        func pauseReading(_ socket: SocketID) {}
        func resumeReading(_ socket: SocketID) {}
        func reserveInbox(_ bytes: Int, of address: AddressBlock) -> Bool { true }
        func releaseInbox(_ bytes: Int, of address: AddressBlock) {}
        func allowLongMessages(_ socket: SocketID) {}
    }

    let sockets = NotingSockets()
    let metrics = Metrics()
    let watchers: Watchers
    let socketWriter: SocketWriter
    let clock = ShardClock(now: 1_000)
    let outboxes = Outboxes(OutboxBudget(0))
    private(set) var logs: [Topic] = []
    private(set) var people: [Topic] = []
    private(set) var connections: [Connection] = []
    private var generation: UInt32 = 3
    /// The store's entries of each log.
    var store: [[[UInt8]]]
    /// Unanswered requests of catch-ups.
    var requests: [CatchUp] = []
    /// Unanswered reads of entries that logs lack.
    var reads: [(topic: Topic, after: Int64, reply: (Result<LogPage, RedisFailure>) -> Void)] = []

    init(logs count: Int = 1, people: Int = 0, connections: Int = 1) {
        watchers = Watchers(metrics: metrics)
        socketWriter = SocketWriter(
            watchers: watchers, sockets: sockets, clock: clock, metrics: metrics, outboxes: outboxes)
        store = Array(repeating: [], count: count)
        watchers.register([self])
        logs = (0..<count).map { watchers.hold(Identifier("l\($0)")!, TopicKindID(rawValue: 1)) }
        self.people = (0..<people).map { watchers.hold(person: Identifier("p\($0)")!) }
        for index in 0..<connections {
            self.connections.append(make(index))
            watchers.add(self.connections[index])
        }
    }

    /// A new connection with the same socket index.
    func reconnect(_ index: Int) {
        outboxes.release(connections[index])
        watchers.close(connections[index])
        watchers.remove(connections[index])
        sockets.slow.remove(UInt32(index))
        connections[index] = make(index)
        watchers.add(connections[index])
    }

    private func make(_ index: Int) -> Connection {
        generation += 1
        return Connection(
            socket: SocketID(index: UInt32(index), generation: generation), headerToken: nil, now: 0, firstPing: 1)
    }

    // MARK: Entries

    /// Adds an entry to the store without an event for the shard. Returns its number.
    @discardableResult
    func write(_ log: Int, padding: Int = 0) -> Int {
        let text = "e\(log),\(store[log].count + 1)," + String(repeating: "x", count: padding) + ";"
        store[log].append(Array(text.utf8))
        return store[log].count
    }

    /// Delivers the event to the shard, which reads and appends missing entries before it.
    func receive(_ log: Int, _ sequence: Int) {
        guard case .hole(let after) = append(log, sequence) else { return }
        for missing in Int(after) + 1...sequence { _ = append(log, missing) }
    }

    func append(_ log: Int, _ sequence: Int) -> TopicLog.Outcome {
        watchers.append(store[log][sequence - 1], sequence: Int64(sequence), to: logs[log])
    }

    func add(_ log: Int = 0, count: Int = 1, padding: Int = 0) {
        for _ in 0..<count { receive(log, write(log, padding: padding)) }
    }

    func change(_ person: Int, _ version: Int64) {
        let text = "p\(person),\(version);"
        watchers.set(
            Register(version: version, bytes: Array(text.utf8)), .first, on: people[person], announced: true)
    }

    // MARK: Connections

    /// A reply, which leaves before later messages to the connection.
    func reply(_ text: String, to connection: Int) {
        connections[connection].outbox += Array(text.utf8)
        outboxes.change(by: text.utf8.count)
        watchers.markMail(connections[connection])
    }

    func readsAgain(_ connection: Int) {
        sockets.slow.remove(UInt32(connection))
        let each = connections[connection]
        each.congestedSince = nil
        outboxes.change(by: -Int(each.unsent))
        each.unsent = 0
        watchers.set(.congested, false, on: each)
    }

    func background(_ connection: Int, _ isSet: Bool) {
        watchers.set(.background, isSet, on: connections[connection])
    }

    /// Ends the turn, and returns this connection's output in it.
    func endTurn(_ connection: UInt32 = 0) -> String {
        sockets.written = [:]
        _ = socketWriter.flush(commandsPending: 0)
        return String(decoding: sockets.written[connection] ?? [], as: UTF8.self)
    }

    // MARK: The feature

    var keepsLog: Bool { true }
    func makeState() -> AnyObject? { nil }
    func read(_ topic: Topic, reply: @escaping StoreReply) {}
    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {}
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool { false }
    func catchUp(_ request: CatchUp) { requests.append(request) }
    func readLog(_ topic: Topic, after: Int64, reply: @escaping (Result<LogPage, RedisFailure>) -> Void) {
        reads.append((topic, after, reply))
    }
    func restartFrame(of topic: Topic, at end: Int64) -> [UInt8] {
        Array("r\(topic.subject.string.dropFirst()),\(end);".utf8)
    }

    /// A page of entries for a catch-up.
    func page(_ request: CatchUp, _ count: Int) -> [LogEntry] {
        let log = Int(request.topic.subject.string.dropFirst())!
        let after = Int(request.after)
        // No log has an entry before the first: such a reader restarts at the end.
        guard after >= 0 else {
            let end = Int64(store[log].count)
            return [LogEntry(sequence: end, frame: restartFrame(of: request.topic, at: end))]
        }
        return (after..<max(after, min(after + count, store[log].count))).map {
            LogEntry(sequence: Int64($0 + 1), frame: store[log][$0])
        }
    }

    /// Answers the first waiting read from the store's present state.
    func answerRead(page count: Int = 100) {
        let (topic, after, reply) = reads.removeFirst()
        let log = Int(topic.subject.string.dropFirst())!
        let entries = store[log].indices.dropFirst(Int(after)).prefix(count).map {
            LogEntry(sequence: Int64($0 + 1), frame: store[log][$0])
        }
        reply(.success(LogPage(entries: entries, end: Int64(store[log].count))))
    }

    func answer(page count: Int = 100) {
        let request = requests.removeFirst()
        socketWriter.catchUps.complete(request, with: page(request, count))
    }

    /// `e0,1,;e0,2,;…`
    static func entries(_ range: ClosedRange<Int>, of log: Int = 0) -> String {
        range.map { "e\(log),\($0),;" }.joined()
    }
}
