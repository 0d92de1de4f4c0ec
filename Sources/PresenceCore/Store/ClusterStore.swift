import EventLoops
import PresenceProtocol
import Redis

/// The shard's connections to a Redis cluster, as the logic's `Store`. Each master has three: one for commands, one for
/// the lease, and a subscription.
///
/// A partition's keys and events, and so its scripts, belong to one slot. Each script runs at that slot's master and
/// uses its clock. If any master is unreachable, or was replaced by one of its replicas (which may lack the master's
/// last writes), that is a break for the whole shard. A slot that moves is no break.
final class ClusterStore: ConnectedStore {
    var onChange: (StoreChange) -> Void = { _ in }
    var onEvent: (_ payload: UnsafeRawBufferPointer, _ partition: Int) -> Void = { _, _ in }
    var onCanary: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    var onOverheard: (_ payload: UnsafeRawBufferPointer) -> Void = { _ in }
    var onRoundTrip: (_ microseconds: Int64) -> Void = { _ in }
    var onFewReplicas: (_ count: Int) -> Void = { _ in }

    private let loop: EventLoop
    private let directory: ClusterDirectory
    private let commands: ClusterLane
    private let lease: ClusterLane
    private var subscriber: ClusterSubscriber?
    private let partitions: Partitions
    /// The bytes that may wait before requests are rejected.
    private let mostBytes: Int
    private let options: RedisOptions
    private let name: String
    private var canary = ""
    /// The newest canary that was published.
    private var published = 0
    /// The newest canary that arrived through each master's subscription.
    private var heard: [ClusterNode: Int] = [:]

    init(
        loop: EventLoop, seeds: RedisClusterSeeds, options: RedisOptions, partitions: Partitions, replicas: Int,
        mostBytes: Int, name: String
    ) {
        self.loop = loop
        self.options = options
        self.partitions = partitions
        self.mostBytes = mostBytes
        self.name = name
        directory = ClusterDirectory(loop: loop, seeds: seeds, name: name + ":directory", options: options)
        commands = ClusterLane(
            loop: loop, directory: directory, name: name + ":commands", replicas: replicas, options: options)
        lease = ClusterLane(loop: loop, directory: directory, name: name + ":lease", options: options)
        commands.onRoundTrip = { [unowned self] in onRoundTrip($0) }
        commands.onFewReplicas = { [unowned self] in onFewReplicas($0) }
        commands.onState = { [unowned self] in handle(.commands, $0) }
        lease.onState = { [unowned self] in handle(.lease, $0) }
        directory.onMap = { [unowned self] map, before in
            // The subscriptions first: their losses must be known before anything is read.
            subscriber?.apply(map, before: before)
            expectCanaries()
            commands.apply(map, before: before)
            lease.apply(map, before: before)
        }
        directory.onTrouble = { [unowned self] reason in
            if directory.map == nil { onChange(.down(.commands, reason: reason)) }
        }
    }

    func connect() {
        directory.needsNews = true
        directory.start()
    }

    package func close() {
        directory.close()
        commands.close()
        lease.close()
        subscriber?.close()
    }

    private func handle(_ lane: StoreLane, _ state: ClusterLane.State) {
        directory.needsNews = commands.state != .up || lease.state != .up
        switch state {
        case .up: onChange(.up(lane))
        case .down(let reason): onChange(.down(lane, reason: reason))
        }
    }

    // MARK: Store

    var pending: Int { commands.pending + lease.pending }
    var pendingBytes: Int { commands.pendingBytes + lease.pendingBytes }
    var isFull: Bool { pendingBytes >= mostBytes }
    var hasOneClock: Bool { false }

    package func run(
        _ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply
    ) {
        self.lane(lane).run(
            script.redis, keys: keys, arguments: [.string("0")] + arguments.map(RedisArgument.string),
            isAcknowledged: script.isAcknowledged && lane == .commands, reply: reply)
    }

    package func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        let lane = self.lane(lane)
        switch words[0] {
        case "PUBLISH" where words[1] == canary: publishCanary(words[2], lane, reply: reply)
        case "CONFIG", "INFO": broadcast(words, lane, reply: reply)
        default: lane.send(words.map(RedisArgument.string), key: words[1], reply: reply)
        }
    }

    private func lane(_ lane: StoreLane) -> ClusterLane { lane == .commands ? commands : lease }

    /// Combines all masters' replies.
    private func broadcast(_ words: [String], _ lane: ClusterLane, reply: @escaping StoreReply) {
        lane.everywhere { _ in
            words.map(RedisArgument.string)
        } done: { answers in
            let arrays = answers.compactMap { try? $0.get() }.map { $0.array ?? [$0] }
            if arrays.isEmpty, let first = answers.first { return reply(first) }
            reply(.success(.array(arrays.flatMap(\.self))))
        }
    }

    package func subscribe(canary: String) {
        if let subscriber { return subscriber.reconnect(reason: "the subscription is silent") }
        self.canary = canary
        let subscriber = ClusterSubscriber(
            loop: loop, directory: directory, name: name + ":events", channels: partitions.eventChannels,
            canary: canary, options: options)
        subscriber.onSubscribed = { [unowned self] in onChange(.subscribed) }
        subscriber.onLost = { [unowned self] in onChange(.unsubscribed(reason: $0)) }
        subscriber.onMoved = { [unowned self] in onChange(.rerouted(partitions: $0)) }
        subscriber.onMessage = { [unowned self] in onEvent($1, $0) }
        subscriber.onCanary = { [unowned self] in receive(canary: $1, of: $0) }
        self.subscriber = subscriber
        if let map = directory.map {
            subscriber.apply(map, before: nil)
            expectCanaries()
        }
    }

    // The configuration does not allow interests with a cluster (`ServerConfiguration.Redis.validate`).
    package func follow(_ channel: String, partition: Int) { preconditionFailure("a cluster has no interests") }
    package func leave(_ channel: String) { preconditionFailure("a cluster has no interests") }
    package var isSubscribing: Bool { subscriber != nil }
    package func overhear(_ pattern: String?) { preconditionFailure("a cluster has no interests") }
    var followed: Int { 0 }
    var followsPending: Int { 0 }

    func reconnect() {
        commands.reconnect(reason: "resynchronising failed")
        lease.reconnect(reason: "resynchronising failed")
    }

    // MARK: Canaries

    /// Publishes a canary at each master: the logic receives it once it has passed through every subscription.
    private func publishCanary(_ number: String, _ lane: ClusterLane, reply: @escaping StoreReply) {
        guard let subscriber else { return reply(.success(.null)) }
        published = Int(number) ?? published
        lane.everywhere {
            ["PUBLISH", .string(subscriber.canaryChannel(of: $0)), .string(number)]
        } done: {
            reply($0[0])
        }
    }

    private func receive(canary payload: UnsafeRawBufferPointer, of master: ClusterNode) {
        guard let number = Int(String(decoding: payload, as: UTF8.self)), heard[master] != nil else { return }
        heard[master] = number
        // Nothing more is expected from a master that was replaced.
        guard let least = subscriber?.masters.compactMap({ heard[$0] }).min() else { return }
        Array(String(least).utf8).withUnsafeBytes { onCanary($0) }
    }

    /// From a new master no earlier canary is expected.
    private func expectCanaries() {
        let masters = subscriber?.masters ?? []
        heard = Dictionary(uniqueKeysWithValues: masters.map { ($0, heard[$0] ?? published) })
    }
}
