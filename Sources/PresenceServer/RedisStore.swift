import EventLoops
import Redis

/// The shard's way to Redis: three connections on its loop, as the logic's `Store`.
///
/// Commands, the lease, and subscriptions are apart so that bulk work delays no renewal, and because a connection that
/// has subscribed can do nothing else.
final class RedisStore: Store {
    /// Told of every break and recovery.
    var onChange: (StoreChange) -> Void = { _ in }
    /// An event of a partition; the bytes are lent for the call.
    var onEvent: (_ payload: UnsafeRawBufferPointer, _ partition: Int) -> Void = { _, _ in }
    var onCanary: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    var onRoundTrip: (_ microseconds: Int64) -> Void = { _ in }

    private let loop: EventLoop
    private let endpoint: RedisEndpoint
    private let options: RedisOptions
    private let partitions: Partitions
    /// Replicas that must have an acknowledged change; 0 asks for none.
    private let replicas: Int
    private let commands: RedisConnection
    private let lease: RedisConnection
    private var subscriber: RedisSubscriber?
    private let name: String

    init(
        loop: EventLoop, endpoint: RedisEndpoint, options: RedisOptions, partitions: Partitions, replicas: Int,
        name: String
    ) {
        self.loop = loop
        self.endpoint = endpoint
        self.options = options
        self.partitions = partitions
        self.replicas = replicas
        self.name = name
        commands = RedisConnection(loop: loop, endpoint: endpoint, name: name + ":commands", options: options)
        lease = RedisConnection(loop: loop, endpoint: endpoint, name: name + ":lease", options: options)
        commands.onRoundTrip = { [unowned self] in onRoundTrip($0) }
        commands.onState = { [unowned self] in follow(.commands, $0) }
        lease.onState = { [unowned self] in follow(.lease, $0) }
    }

    /// Commands that Redis has not answered yet.
    var pending: Int { commands.pending + lease.pending }

    func connect() {
        commands.connect()
        lease.connect()
    }

    func close() {
        commands.close()
        lease.close()
        subscriber?.close()
    }

    private func follow(_ lane: StoreLane, _ state: RedisConnection.State) {
        switch state {
        case .connecting, .closed: break
        case .disconnected(let reason): onChange(.down(lane, reason: reason))
        case .ready where lane == .commands:
            // Once for all: a script that is missing all the same is loaded when it is called.
            commands.load(Script.allCases.map(\.redis)) { [unowned self] result in
                switch result {
                case .success: onChange(.up(lane))
                case .failure(let failure): commands.reconnect(reason: "loading the scripts failed: \(failure)")
                }
            }
        case .ready: onChange(.up(lane))
        }
    }

    // MARK: Store

    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply) {
        let connection = lane == .commands ? commands : lease
        guard replicas > 0, script.isAcknowledged else {
            return connection.run(
                script.redis, keys: keys.map(RedisArgument.string),
                arguments: [.string("0")] + arguments.map(RedisArgument.string), reply: reply)
        }
        // Pipelined with its WAIT, so that nothing comes between. The connection stands still meanwhile: that is the
        // price of asking for replicas.
        var answer: Result<RedisValue, RedisFailure>?
        connection.run(
            script.redis, keys: keys.map(RedisArgument.string),
            arguments: [.string("0")] + arguments.map(RedisArgument.string)
        ) { answer = $0 }
        let patience = options.commandTimeout / 2
        connection.send(["WAIT", .init(replicas), .init(patience)]) { [replicas] waited in
            guard let answer else { return reply(.failure(.timedOut(sent: true))) }
            guard case .success = answer else { return reply(answer) }
            guard case .success(let value) = waited, let count = value.int, count >= replicas else {
                return reply(.failure(.timedOut(sent: true)))
            }
            reply(answer)
        }
    }

    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        let connection = lane == .commands ? commands : lease
        connection.send(words.map(RedisArgument.string), reply: reply)
    }

    func subscribe(canary: String) {
        if let subscriber { return subscriber.reconnect(reason: "the subscription is silent") }
        let subscriber = RedisSubscriber(
            loop: loop, endpoint: endpoint, name: name + ":events", channels: partitions.eventChannels + [canary],
            options: options)
        subscriber.onState = { [unowned self] state in
            switch state {
            case .connecting, .closed: break
            case .subscribed: onChange(.subscribed)
            case .lost(let reason): onChange(.unsubscribed(reason: reason))
            }
        }
        subscriber.onMessage = { [unowned self] channel, payload in
            if channel < partitions.count { onEvent(payload, channel) } else { onCanary(payload) }
        }
        self.subscriber = subscriber
        subscriber.connect()
    }

    func reconnect() {
        commands.reconnect(reason: "resynchronising failed")
        lease.reconnect(reason: "resynchronising failed")
    }
}

extension Script {
    /// Whose answer a client waits for as the sign that its change is kept.
    var isAcknowledged: Bool {
        switch self {
        case .profile, .status, .create, .participants, .visibility: true
        default: false
        }
    }
}
