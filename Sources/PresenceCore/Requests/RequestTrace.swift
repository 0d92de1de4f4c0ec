import WebSockets

/// The request for which the shard is acting, so that debug logs relate a change and its deliveries to the request, on
/// every server. It exists only at the log levels `debug` and `trace`.
///
/// A call is named by its `X-Request-Id`. A client's message is named by its session and `id`, as `SESSION/7`, or,
/// before the session exists, by the upgrade's `X-Request-Id`. The name is kept with replies of Redis and jobs, so a
/// request of several steps keeps it. Shared work, such as one read for two requests, belongs to the first request.
///
/// On the shard's thread.
final class RequestTrace {
    /// `nil` if the shard acts on its own.
    var current: String? { followed ?? Self.ofTask }
    /// The request of the callback that is running.
    private var followed: String?
    /// The request of an async function (`ShardTasks`).
    @TaskLocal static var ofTask: String?
    /// Names of upgrades and calls, by their connections.
    private var names: [SocketID: String] = [:]
    /// The request of each partition's next event.
    private var announced: [Int: String] = [:]
    /// The requests whose changes have arrived since the last delivery.
    private var arrived: [String] = []
    /// The most names of one turn that are logged.
    private static let most = 32

    func following<Failure: Error>(_ request: String?, _ act: () throws(Failure) -> Void) throws(Failure) {
        let before = followed
        followed = request
        defer { followed = before }
        try act()
    }

    /// The same function, run for the current request.
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

    /// Returns and removes the request of an event that has arrived; its delivery follows.
    func take(partition: Int) -> String? {
        guard let request = announced.removeValue(forKey: partition) else { return nil }
        if arrived.last != request, arrived.count < Self.most { arrived.append(request) }
        return request
    }

    /// The requests whose changes have been delivered now.
    func takeArrived() -> [String] {
        defer { arrived = [] }
        return arrived
    }
}
