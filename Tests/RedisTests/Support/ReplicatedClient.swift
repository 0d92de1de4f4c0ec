import EventLoops

@testable import Redis

/// A connection for changes, and one that waits until replicas have them, on a loop of their own.
actor ReplicatedClient {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let endpoint: RedisEndpoint
    private let patience: Int64
    private lazy var changes = RedisConnection(loop: loop, endpoint: endpoint, name: "changes", options: .quick)
    private lazy var waits = ReplicaWaits(
        loop: loop, of: changes, on: RedisConnection(loop: loop, endpoint: endpoint, name: "waits", options: .quick),
        replicas: 1, patience: patience)
    private var changesStates = Events<RedisConnection.State>()
    private var waitsStates = Events<RedisConnection.State>()

    private init(_ endpoint: RedisEndpoint, patience: Int64) throws {
        self.endpoint = endpoint
        self.patience = patience
        loop = try EventLoop(name: "replicated-test")
        loop.start()
    }

    /// Runs `body` with both connected, and ends them afterwards.
    static func with(
        _ endpoint: RedisEndpoint, patience: Int64 = 5_000, _ body: (ReplicatedClient) async throws -> Void
    ) async throws {
        let client = try ReplicatedClient(endpoint, patience: patience)
        await client.connect()
        await client.ready()
        let result: Result<Void, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.end()
        client.loop.stop()
        client.loop.join()
        try result.get()
    }

    private func connect() {
        waits.onState = { [unowned self] state in assumeIsolated { $0.waitsStates.add(state) } }
        changes.onState = { [unowned self] state in assumeIsolated { $0.changesStates.add(state) } }
        changes.connect()
        waits.connect()
    }

    private func end() {
        changes.close()
        waits.close()
    }

    func ready() async {
        _ = await withCheckedContinuation { changesStates.wait(for: { $0 == .ready }, $0) }
        _ = await withCheckedContinuation { waitsStates.wait(for: { $0 == .ready }, $0) }
    }

    /// The reason of the next break of the connection for changes.
    func breakReason() async -> String {
        let state = await withCheckedContinuation { changesStates.wait(for: \.isDisconnected, $0) }
        if case .disconnected(let reason) = state { return reason }
        return ""
    }

    func changesReady() async { _ = await withCheckedContinuation { changesStates.wait(for: { $0 == .ready }, $0) } }

    func dropWaits() async {
        waits.reconnect(reason: "told to")
        _ = await withCheckedContinuation { waitsStates.wait(for: { $0 == .ready }, $0) }
    }

    var unconfirmed: Int { waits.pending }

    /// Returns once this many changes wait for replicas.
    func gather(_ count: Int) async {
        // With a round trip each time, so that the loop handles its sockets.
        while waits.pending < count, !Task.isCancelled { _ = await send("PING") }
    }

    /// Sends this many changes in one turn. Returns their answers, once all have arrived.
    func change(_ script: RedisScript, times count: Int = 1) async -> [Answer] {
        await withCheckedContinuation { done in
            var answers: [Answer] = []
            start(script, times: count) { answer in
                answers.append(answer)
                if answers.count == count { done.resume(returning: answers) }
            }
        }
    }

    private func start(_ script: RedisScript, times count: Int, _ reply: @escaping (Answer) -> Void) {
        for number in 0..<count {
            guard let ticket = waits.begin() else {
                changes.refuse(.disconnected(sent: false), reply)
                continue
            }
            changes.run(script, keys: ["list"], arguments: [.init(number)]) { [waits] in
                waits.confirm($0, ticket, reply: reply)
            }
        }
    }

    /// Sends changes, and as many again once these wait for replicas, and then reads the list's length. All of it on
    /// the loop's own thread, because other tests block the pool's.
    ///
    /// - Returns: All changes' answers, the length, and how many ms it took to read that.
    func twoWaves(_ script: RedisScript, of count: Int) async -> (changes: [Answer], length: Answer, took: Int64) {
        let began = loop.now
        var answers: [Answer] = []
        var done: CheckedContinuation<Void, Never>?
        func add(_ answer: Answer) {
            answers.append(answer)
            if answers.count == 2 * count { done?.resume() }
        }
        start(script, times: count, add)
        await gather(count)
        start(script, times: count, add)
        await gather(2 * count)
        let length = await send("LLEN", "list")
        let took = loop.now - began
        if answers.count < 2 * count { await withCheckedContinuation { done = $0 } }
        return (answers, length, took)
    }

    /// On the connection for changes.
    func send(_ arguments: RedisArgument...) async -> Answer {
        await withCheckedContinuation { done in changes.send(arguments) { done.resume(returning: $0) } }
    }
}
