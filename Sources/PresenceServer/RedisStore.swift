import EventLoops
import Redis

/// The shard's way to one Redis: three connections on its loop, as the logic's `Store`.
///
/// Commands, the lease, and subscriptions are apart so that bulk work delays no renewal, and because a connection that
/// has subscribed can do nothing else. Where sentinels name the Redis, all three are at the same one: as soon as they
/// name another, whoever is connected elsewhere is broken off.
final class RedisStore: ConnectedStore {
    var onChange: (StoreChange) -> Void = { _ in }
    var onEvent: (_ payload: UnsafeRawBufferPointer, _ partition: Int) -> Void = { _, _ in }
    var onCanary: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    var onRoundTrip: (_ microseconds: Int64) -> Void = { _ in }

    private let loop: EventLoop
    private let place: Place
    private let options: RedisOptions
    private let partitions: Partitions
    /// Replicas that must have an acknowledged change; 0 asks for none.
    private let replicas: Int
    private let commands: RedisConnection
    private let lease: RedisConnection
    private var subscriber: RedisSubscriber?
    private let name: String

    enum Place {
        case fixed(RedisEndpoint)
        case master(RedisMaster)
    }

    init(
        loop: EventLoop, place: Place, options: RedisOptions, partitions: Partitions, replicas: Int, name: String
    ) {
        self.loop = loop
        self.place = place
        self.options = options
        self.partitions = partitions
        self.replicas = replicas
        self.name = name
        func connection(_ lane: String) -> RedisConnection {
            switch place {
            case .fixed(let endpoint):
                RedisConnection(loop: loop, endpoint: endpoint, name: name + lane, options: options)
            case .master(let master):
                RedisConnection(loop: loop, master: master, name: name + lane, options: options)
            }
        }
        commands = connection(":commands")
        lease = connection(":lease")
        commands.onRoundTrip = { [unowned self] in onRoundTrip($0) }
        commands.onState = { [unowned self] in follow(.commands, $0) }
        lease.onState = { [unowned self] in follow(.lease, $0) }
        if case .master(let master) = place { master.onMove = { [unowned self] in move(to: $0) } }
    }

    /// Commands that Redis has not answered yet.
    var pending: Int { commands.pending + lease.pending }
    var hasOneClock: Bool { true }

    func connect() {
        if case .master(let master) = place { master.start() }
        commands.connect()
        lease.connect()
    }

    func close() {
        commands.close()
        lease.close()
        subscriber?.close()
        if case .master(let master) = place { master.close() }
    }

    /// A lease at one Redis and sessions at another would be believed by neither.
    private func move(to master: RedisEndpoint) {
        let reason = "the sentinels name another master: \(master)"
        if commands.endpoint != master { commands.reconnect(reason: reason) }
        if lease.endpoint != master { lease.reconnect(reason: reason) }
        if let subscriber, subscriber.endpoint != master { subscriber.reconnect(reason: reason) }
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
        let keys = keys.map(RedisArgument.string)
        let arguments = [.string("0")] + arguments.map(RedisArgument.string)
        connection.run(
            script.redis, keys: keys, arguments: arguments, replicas: script.isAcknowledged ? replicas : 0,
            patience: options.commandTimeout / 2, reply: reply)
    }

    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        let connection = lane == .commands ? commands : lease
        connection.send(words.map(RedisArgument.string), reply: reply)
    }

    func subscribe(canary: String) {
        if let subscriber { return subscriber.reconnect(reason: "the subscription is silent") }
        let channels = partitions.eventChannels + [canary]
        let subscriber =
            switch place {
            case .fixed(let endpoint):
                RedisSubscriber(
                    loop: loop, endpoint: endpoint, name: name + ":events", channels: channels, options: options)
            case .master(let master):
                RedisSubscriber(
                    loop: loop, master: master, name: name + ":events", channels: channels, options: options)
            }
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
        case .profile, .status, .create, .participants, .revoke, .visibility: true
        default: false
        }
    }
}
