import EventLoops

@testable import Redis

typealias Answer = Result<RedisValue, RedisFailure>

/// A `RedisConnection` on a loop of its own, for tests to await.
actor Client {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let make: @Sendable (EventLoop) -> RedisConnection
    private var sentinels: (RedisSentinels, RedisOptions)?
    private var master: RedisMaster?
    private lazy var connection = makeConnection()
    private var states = Events<RedisConnection.State>()

    private init(_ endpoint: RedisEndpoint, _ options: RedisOptions) throws {
        loop = try EventLoop(name: "redis-test")
        make = { RedisConnection(loop: $0, endpoint: endpoint, name: "test", options: options) }
        loop.start()
    }

    /// One that is connected to the master that sentinels name.
    private init(_ sentinels: RedisSentinels, _ options: RedisOptions) throws {
        loop = try EventLoop(name: "redis-test")
        self.sentinels = (sentinels, options)
        make = { RedisConnection(loop: $0, endpoint: sentinels.sentinels[0], name: "test", options: options) }
        loop.start()
    }

    /// Runs `body` with a client that connects, and ends it afterwards.
    static func with(
        _ endpoint: RedisEndpoint, _ options: RedisOptions = .quick, _ body: (Client) async throws -> Void
    ) async throws {
        try await run(try Client(endpoint, options), body)
    }

    static func with(
        _ sentinels: RedisSentinels, _ options: RedisOptions = .quick, _ body: (Client) async throws -> Void
    ) async throws {
        try await run(try Client(sentinels, options), body)
    }

    private static func run(_ client: Client, _ body: (Client) async throws -> Void) async throws {
        await client.connect()
        let result: Result<Void, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.end()
        client.loop.stop()
        client.loop.join()
        try result.get()
    }

    private func makeConnection() -> RedisConnection {
        guard let (sentinels, options) = sentinels else { return make(loop) }
        let master = RedisMaster(loop: loop, sentinels: sentinels, name: "sentinel", options: options)
        let connection = RedisConnection(loop: loop, master: master, name: "test", options: options)
        master.onMove = { [unowned connection] in
            connection.reconnect(reason: "the sentinels name another master: \($0)")
        }
        master.start()
        self.master = master
        return connection
    }

    /// Where it is connected.
    var port: UInt16? {
        if case .tcp(_, let port)? = connection.endpoint?.address { port } else { nil }
    }

    private func connect() {
        connection.onState = { [unowned self] state in assumeIsolated { $0.states.add(state) } }
        connection.connect()
    }

    private func end() {
        connection.close()
        master?.close()
    }

    /// Waits for a state that comes after those already awaited.
    @discardableResult
    func state(where isWanted: @escaping @Sendable (RedisConnection.State) -> Bool) async -> RedisConnection.State {
        await withCheckedContinuation { states.wait(for: isWanted, $0) }
    }

    func ready() async { await state { $0 == .ready } }

    /// The reason of the next break.
    func breakReason() async -> String {
        guard case .disconnected(let reason) = await state(where: \.isDisconnected) else { return "" }
        return reason
    }

    func send(_ arguments: RedisArgument...) async -> Answer {
        await withCheckedContinuation { done in connection.send(arguments) { done.resume(returning: $0) } }
    }

    func run(_ script: RedisScript, keys: [RedisArgument] = [], _ arguments: RedisArgument...) async -> Answer {
        await withCheckedContinuation { done in
            connection.run(script, keys: keys, arguments: arguments) { done.resume(returning: $0) }
        }
    }

    /// Runs on the loop, in one turn.
    func onLoop<Value: Sendable>(_ body: @Sendable (RedisConnection) throws -> Value) rethrows -> Value {
        try body(connection)
    }

    /// Runs on the loop and waits until `done` is called.
    func wait<Value: Sendable>(
        _ body: @Sendable (RedisConnection, _ done: @escaping (Value) -> Void) -> Void
    ) async -> Value {
        await withCheckedContinuation { continuation in body(connection) { continuation.resume(returning: $0) } }
    }
}

extension RedisConnection.State {
    var isDisconnected: Bool { if case .disconnected = self { true } else { false } }
}

extension RedisOptions {
    /// Reconnects faster than in production.
    static var quick: RedisOptions { with { _ in } }

    static func with(_ change: (inout RedisOptions) -> Void) -> RedisOptions {
        var options = RedisOptions()
        options.firstRetry = 5
        options.slowestRetry = 20
        change(&options)
        return options
    }
}

extension Answer {
    var value: RedisValue? { try? get() }
    var failure: RedisFailure? { if case .failure(let failure) = self { failure } else { nil } }
}
