import EventLoops

/// Knows which server is the master, by asking the sentinels.
///
/// It asks all sentinels once a second, and for each connection attempt. The newest configuration wins (the highest
/// epoch), so a partitioned sentinel that knows only the old master has no effect. The questions cost the sentinels
/// almost nothing and, unlike their messages about a switch, cannot be missed.
///
/// Confined to the loop's thread. Its owner closes it before releasing it.
public final class RedisMaster {
    /// The master by the last answers.
    public private(set) var endpoint: RedisEndpoint?

    /// Called when the sentinels name another master than before.
    public var onMove: (RedisEndpoint) -> Void = { _ in }

    private let description: RedisSentinels
    private let loop: EventLoop
    private var sentinels: [Sentinel] = []
    private var seekers: [ObjectIdentifier: (RedisEndpoint) -> Void] = [:]
    private(set) var trouble: String?
    private lazy var timer = LoopTimer(loop) { [unowned self] in poll() }

    private static let interval: Int64 = 1_000
    /// The longest time to wait for a hanging sentinel, in ms.
    private static let patience: Int64 = 500

    private final class Sentinel {
        let connection: RedisConnection
        var epoch: Int64 = -1
        var master: RedisEndpoint?
        var isAsked = false
        init(_ connection: RedisConnection) { self.connection = connection }
    }

    public init(loop: EventLoop, sentinels: RedisSentinels, name: String, options: RedisOptions = RedisOptions()) {
        self.loop = loop
        description = sentinels
        var options = options
        options.commandTimeout = Self.patience
        self.sentinels = sentinels.sentinels.map {
            Sentinel(RedisConnection(loop: loop, endpoint: $0, name: name, options: options))
        }
        for sentinel in self.sentinels {
            sentinel.connection.onState = { [unowned self, unowned sentinel] in handle(sentinel, $0) }
        }
    }

    public func start() {
        sentinels.forEach { $0.connection.connect() }
        timer.set(after: Self.interval)
    }

    public func close() {
        timer.cancel()
        seekers = [:]
        sentinels.forEach { $0.connection.close() }
    }

    private func handle(_ sentinel: Sentinel, _ state: RedisConnection.State) {
        switch state {
        case .connecting, .closed: break
        case .ready: query(sentinel)
        case .disconnected(let reason):
            trouble = reason
            sentinel.master = nil
            sentinel.epoch = -1
        }
    }

    private func poll() {
        timer.set(after: Self.interval)
        sentinels.forEach(query)
    }

    private func query(_ sentinel: Sentinel) {
        guard !sentinel.isAsked, sentinel.connection.state == .ready else { return }
        sentinel.isAsked = true
        var epoch: Int64 = -1
        sentinel.connection.send(["SENTINEL", "MASTER", .string(description.master)]) { result in
            if case .success(let value) = result { epoch = RedisSentinels.epoch(in: value) }
        }
        // During a failover this command already names the promoted server, while `SENTINEL MASTER` still returns the
        // old one.
        sentinel.connection.send(
            ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", .string(description.master)]
        ) { [unowned self, unowned sentinel] result in
            sentinel.isAsked = false
            sentinel.epoch = epoch
            sentinel.master = nil
            switch result {
            case .failure(let failure): trouble = "\(failure)"
            case .success(let value):
                sentinel.master = description.master(in: value)
                if sentinel.master == nil { trouble = description.unknown }
            }
            chooseMaster()
        }
    }

    /// Called when each sentinel has answered or failed.
    private func chooseMaster() {
        guard !sentinels.contains(where: \.isAsked),
            let newest = sentinels.filter({ $0.master != nil }).max(by: { $0.epoch < $1.epoch }),
            let master = newest.master
        else { return }
        trouble = nil
        let before = endpoint
        endpoint = master
        let waiting = seekers
        seekers = [:]
        waiting.values.forEach { $0(master) }
        if let before, before != master { onMove(master) }
    }
}

extension RedisMaster: EndpointSource {
    var name: String { description.description }

    func find(for seeker: AnyObject, _ found: @escaping (RedisEndpoint) -> Void) {
        seekers[ObjectIdentifier(seeker)] = found
        sentinels.forEach(query)
    }
}

/// The content of a sentinel's answers.
extension RedisSentinels {
    /// `SENTINEL MASTER`: the epoch of its configuration; -1 if it has none.
    static func epoch(in answer: RedisValue) -> Int64 {
        let words = answer.array ?? []
        guard let index = words.firstIndex(where: { $0.string == "config-epoch" }), index + 1 < words.count else {
            return -1
        }
        return words[index + 1].int ?? -1
    }

    /// `SENTINEL GET-MASTER-ADDR-BY-NAME`
    func master(in answer: RedisValue) -> RedisEndpoint? {
        guard let words = answer.array, words.count == 2, let host = words[0].string,
            let port = words[1].int.flatMap({ UInt16(exactly: $0) })
        else { return nil }
        return endpoint(host: host, port: port)
    }

    var unknown: String { "the sentinels know no master \"\(master)\"" }
}
