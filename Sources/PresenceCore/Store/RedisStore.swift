import EventLoops
import Redis

/// The shard's connections to one Redis, as the logic's `Store`: three on its loop, four if replicas are required.
///
/// Commands, the lease, and subscriptions have separate connections, so that bulk work delays no renewal, and because a
/// connection with subscriptions accepts no other commands. Neither does one that waits for replicas (`ReplicaWaits`).
/// With sentinels, all connections use the same master: as soon as another master is named, those to the former one are
/// closed.
final class RedisStore: ConnectedStore {
    var onChange: (StoreChange) -> Void = { _ in }
    var onEvent: (_ payload: UnsafeRawBufferPointer, _ partition: Int) -> Void = { _, _ in }
    var onCanary: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    var onOverheard: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    var onRoundTrip: (_ microseconds: Int64) -> Void = { _ in }
    var onFewReplicas: (_ count: Int) -> Void = { _ in }

    private let loop: EventLoop
    private let place: Place
    private let options: RedisOptions
    private let partitions: Partitions
    /// The bytes that may wait before requests are rejected.
    private let mostBytes: Int
    private let commands: RedisConnection
    /// `nil` if no replicas are required.
    private let waits: ReplicaWaits?
    private var areCommandsUp = false
    private let lease: RedisConnection
    private var subscriber: RedisSubscriber?
    private let name: String

    package enum Place {
        case fixed(RedisEndpoint)
        case master(RedisMaster)
    }

    init(
        loop: EventLoop, place: Place, options: RedisOptions, partitions: Partitions, replicas: Int, mostBytes: Int,
        name: String
    ) {
        self.loop = loop
        self.place = place
        self.options = options
        self.partitions = partitions
        self.mostBytes = mostBytes
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
        waits =
            replicas == 0
            ? nil
            : ReplicaWaits(
                loop: loop, of: commands, on: connection(":replicas"), replicas: replicas,
                patience: options.commandTimeout / 2)
        commands.onRoundTrip = { [unowned self] in onRoundTrip($0) }
        waits?.onFewReplicas = { [unowned self] in onFewReplicas($0) }
        commands.onState = { [unowned self] in handle(.commands, $0) }
        lease.onState = { [unowned self] in handle(.lease, $0) }
        waits?.onState = { [unowned self] in handleWaits($0) }
        if case .master(let master) = place { master.onMove = { [unowned self] in move(to: $0) } }
    }

    /// Commands without a reply.
    var pending: Int { commands.pending + lease.pending + (waits?.pending ?? 0) }
    var pendingBytes: Int { commands.pendingBytes + lease.pendingBytes }
    var isFull: Bool { pendingBytes >= mostBytes }
    var hasOneClock: Bool { true }

    func connect() {
        if case .master(let master) = place { master.start() }
        commands.connect()
        lease.connect()
        waits?.connect()
    }

    package func close() {
        commands.close()
        lease.close()
        waits?.close()
        subscriber?.close()
        if case .master(let master) = place { master.close() }
    }

    /// A lease in one Redis is worthless for sessions in another.
    private func move(to master: RedisEndpoint) {
        let reason = "the sentinels name another master: \(master)"
        if commands.endpoint != master { commands.reconnect(reason: reason) }
        if lease.endpoint != master { lease.reconnect(reason: reason) }
        if let waits, waits.endpoint != master { waits.reconnect(reason: reason) }
        if let subscriber, subscriber.endpoint != master { subscriber.reconnect(reason: reason) }
    }

    private func handle(_ lane: StoreLane, _ state: RedisConnection.State) {
        switch state {
        case .connecting, .closed: break
        case .disconnected(let reason):
            if lane == .commands { areCommandsUp = false }
            onChange(.down(lane, reason: reason))
        case .ready where lane == .commands: commandsMayBeUp()
        case .ready: onChange(.up(lane))
        }
    }

    /// The lane comes up together with the connection for replicas, but does not go down with it: while that connection
    /// is down, changes are rejected and everything else continues.
    private func handleWaits(_ state: RedisConnection.State) {
        switch state {
        case .connecting, .closed: break
        case .disconnected(let reason): if !areCommandsUp { onChange(.down(.commands, reason: reason)) }
        case .ready: commandsMayBeUp()
        }
    }

    private func commandsMayBeUp() {
        guard !areCommandsUp, commands.state == .ready, waits?.isReady != false else { return }
        areCommandsUp = true
        onChange(.up(.commands))
    }

    // MARK: Store

    package func run(
        _ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply
    ) {
        let connection = lane == .commands ? commands : lease
        guard let waits, script.isAcknowledged, lane == .commands else {
            return connection.run(script.redis, keys: keys, first: "0", arguments: arguments, reply: reply)
        }
        // A change that could not be confirmed is not begun.
        guard let ticket = waits.begin() else { return commands.refuse(.disconnected(sent: false), reply) }
        commands.run(script.redis, keys: keys, first: "0", arguments: arguments) {
            waits.confirm($0, ticket, reply: reply)
        }
    }

    package func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        let connection = lane == .commands ? commands : lease
        connection.send(words.map(RedisArgument.string), reply: reply)
    }

    package func subscribe(canary: String) {
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
        subscriber.onFollowed = { [unowned self] in onChange(.followed(channel: $0)) }
        subscriber.onPatternMessage = { [unowned self] in onOverheard($0) }
        self.subscriber = subscriber
        subscriber.connect()
    }

    // The subscriber exists from the logic's start on.
    package func follow(_ channel: String, partition: Int) { subscriber?.follow(channel, index: partition) }
    package func leave(_ channel: String) { subscriber?.leave(channel) }
    package var isSubscribing: Bool { subscriber?.isSubscribing ?? false }
    package func overhear(_ pattern: String?) { subscriber?.pattern = pattern }
    var followed: Int { subscriber?.followed ?? 0 }
    var followsPending: Int { subscriber?.underWay ?? 0 }

    func reconnect() {
        commands.reconnect(reason: "resynchronising failed")
        lease.reconnect(reason: "resynchronising failed")
        waits?.reconnect(reason: "resynchronising failed")
    }
}
