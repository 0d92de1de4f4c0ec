import Redis
import WebSockets

/// Which request the shard is acting for, so that debug logs tell a change and its deliveries by the request that made it, on
/// every server. It exists only at the log levels `debug` and `trace`.
///
/// A call is named by its `X-Request-Id`; a client's message by its session and its `id`, as `SESSION/7`, and before it has a
/// session by the upgrade's `X-Request-Id`. The name goes along with replies of Redis and jobs, so a request of several steps
/// keeps it. What two requests share, such as one read for both, is the first one's.
///
/// On the shard's thread.
final class RequestTrace {
    /// `nil` for what the shard does by itself.
    var current: String? { followed ?? Self.ofTask }
    /// That of callbacks, while they run.
    private var followed: String?
    /// That of an async function (`ShardTasks`).
    @TaskLocal static var ofTask: String?
    /// Upgrades and calls, by their connections.
    private var names: [SocketID: String] = [:]
    /// Whose the next event of a partition is.
    private var announced: [Int: String] = [:]
    /// Whose changes came since the last were delivered.
    private var arrived: [String] = []
    /// More names than this in one turn are not told.
    private static let most = 32

    func following<Failure: Error>(_ request: String?, _ act: () throws(Failure) -> Void) throws(Failure) {
        let before = followed
        followed = request
        defer { followed = before }
        try act()
    }

    /// The same function, for the request that it was asked for.
    func carry<Value>(_ then: @escaping (Value) -> Void) -> (Value) -> Void {
        guard let request = current else { return then }
        return { [self] value in following(request) { then(value) } }
    }

    // MARK: Connections

    func begin(_ name: String, on socket: SocketID) { names[socket] = name }
    func name(on socket: SocketID) -> String? { names[socket] }
    func end(_ socket: SocketID) { names[socket] = nil }

    // MARK: Events

    func announce(_ request: String, partition: Int) { announced[partition] = request }

    /// Whose an event is that has come; it is delivered later.
    func take(partition: Int) -> String? {
        guard let request = announced.removeValue(forKey: partition) else { return nil }
        if arrived.last != request, arrived.count < Self.most { arrived.append(request) }
        return request
    }

    /// Those whose changes have been delivered now.
    func settle() -> [String] {
        defer { arrived = [] }
        return arrived
    }
}

/// A store that tells scripts for which request they run: as one key more, the last, which is the name only
/// (`{p017}:request:NAME`). By it the scripts announce each event with the name (lib.lua).
final class TracingStore: Store {
    private let store: any Store
    private let trace: RequestTrace

    init(_ store: any Store, _ trace: RequestTrace) {
        self.store = store
        self.trace = trace
    }

    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply) {
        store.run(script, keys: naming(keys), arguments: arguments, lane: lane, reply: trace.carry(reply))
    }

    /// Keys of no partition (the leases) stay as they are.
    private func naming(_ keys: [String]) -> [String] {
        guard let name = trace.current, let first = keys.first, let end = first.firstIndex(of: "}") else { return keys }
        return keys + [first[...end] + ":request:" + name]
    }

    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        store.command(words, lane: lane, reply: trace.carry(reply))
    }

    func subscribe(canary: String) { store.subscribe(canary: canary) }
    var pending: Int { store.pending }
    var isFull: Bool { store.isFull }
    func follow(_ channel: String, partition: Int) { store.follow(channel, partition: partition) }
    func leave(_ channel: String) { store.leave(channel) }
    var isSubscribing: Bool { store.isSubscribing }
    func overhear(_ pattern: String?) { store.overhear(pattern) }
    func reconnect() { store.reconnect() }
    var hasOneClock: Bool { store.hasOneClock }
}
