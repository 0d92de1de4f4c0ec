import EventLoops
import Redis

/// A `RedisSubscriber` on a loop of its own, for tests to await.
actor Listener {
    struct Message: Hashable, Sendable {
        let channel: Int
        let payload: [UInt8]
    }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let make: @Sendable (EventLoop) -> RedisSubscriber
    private lazy var subscriber = make(loop)
    private var states = Events<RedisSubscriber.State>()
    private var messages = Events<Message>()
    private var followed = Events<String>()
    private var overheard = Events<[UInt8]>()

    private init(_ endpoint: RedisEndpoint, _ channels: [String], _ options: RedisOptions) throws {
        loop = try EventLoop(name: "listener-test")
        make = {
            RedisSubscriber(loop: $0, endpoint: endpoint, name: "listener", channels: channels, options: options)
        }
        loop.start()
    }

    /// Runs `body` with a listener that connects, and ends it afterwards.
    static func with(
        _ endpoint: RedisEndpoint, _ channels: [String], _ options: RedisOptions = .quick,
        _ body: (Listener) async throws -> Void
    ) async throws {
        let listener = try Listener(endpoint, channels, options)
        await listener.connect()
        let result: Result<Void, any Error>
        do { result = .success(try await body(listener)) } catch { result = .failure(error) }
        await listener.onLoop { $0.close() }
        listener.loop.stop()
        listener.loop.join()
        try result.get()
    }

    private func connect() {
        subscriber.onState = { [unowned self] state in assumeIsolated { $0.states.add(state) } }
        subscriber.onMessage = { [unowned self] in heard(Message(channel: $0, payload: Array($1))) }
        subscriber.onFollowed = { [unowned self] channel in assumeIsolated { $0.followed.add(channel) } }
        subscriber.onPatternMessage = { [unowned self] payload in
            let payload = Array(payload)
            assumeIsolated { $0.overheard.add(payload) }
        }
        subscriber.connect()
    }

    func follows(_ channel: String) async {
        _ = await withCheckedContinuation { followed.wait(for: { $0 == channel }, $0) }
    }

    func overhears() async -> [UInt8] {
        await withCheckedContinuation { overheard.wait(for: { _ in true }, $0) }
    }

    private nonisolated func heard(_ message: Message) {
        assumeIsolated { $0.messages.add(message) }
    }

    @discardableResult
    func state(where isWanted: @escaping @Sendable (RedisSubscriber.State) -> Bool) async -> RedisSubscriber.State {
        await withCheckedContinuation { states.wait(for: isWanted, $0) }
    }

    func subscribed() async { await state { $0 == .subscribed } }

    func lossReason() async -> String {
        let lost = await state { if case .lost = $0 { true } else { false } }
        if case .lost(let reason) = lost { return reason } else { return "" }
    }

    func message() async -> Message {
        await withCheckedContinuation { messages.wait(for: { _ in true }, $0) }
    }

    func onLoop<Value: Sendable>(_ body: @Sendable (RedisSubscriber) throws -> Value) rethrows -> Value {
        try body(subscriber)
    }

    /// Runs on the loop and waits until `done` is called.
    func wait<Value: Sendable>(
        _ body: @Sendable (RedisSubscriber, _ done: @escaping (Value) -> Void) -> Void
    ) async -> Value {
        await withCheckedContinuation { continuation in body(subscriber) { continuation.resume(returning: $0) } }
    }
}
