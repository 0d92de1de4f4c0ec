import EventLoops

/// Knows which master serves which slot, by asking one node of the cluster at a time.
///
/// It asks every second, and immediately when a command was redirected. It changes to the next node when the present
/// one breaks, hangs, or returns nothing new while a change is expected.
///
/// Confined to the loop's thread. Its owner closes it before releasing it.
public final class ClusterDirectory {
    public private(set) var map: SlotMap?
    /// Called when the map has changed.
    public var onMap: (_ map: SlotMap, _ before: SlotMap?) -> Void = { _, _ in }
    /// Called with the reason when no node returns a map.
    public var onTrouble: (_ reason: String) -> Void = { _ in }
    /// The current map does not work: ask more often, and other nodes.
    public var needsNews = false {
        didSet { if needsNews, !oldValue { refresh() } }
    }

    private let loop: EventLoop
    private let seeds: RedisClusterSeeds
    private let candidates: Candidates
    private let scout: RedisConnection
    private var isAsking = false
    private var lastAsked: Int64 = 0
    private var vainAnswers = 0
    /// The connection ends because the directory changes to another node: not a fault.
    private var isLeaving = false
    private lazy var timer = LoopTimer(loop) { [unowned self] in queryMap() }

    private static let interval: Int64 = 1_000
    private static let urgentInterval: Int64 = 100
    /// The shortest time between two questions, however many commands are redirected.
    private static let shortestInterval: Int64 = 20
    /// Unchanged answers before another node is asked.
    private static let patience = 5

    /// The nodes to ask, in turn.
    private final class Candidates: EndpointSource {
        let name: String
        let trouble: String? = nil
        var list: [RedisEndpoint]
        private var next = 0

        init(_ seeds: RedisClusterSeeds) {
            name = seeds.description
            list = seeds.seeds
        }

        func find(for seeker: AnyObject, _ found: @escaping (RedisEndpoint) -> Void) {
            next = (next + 1) % list.count
            found(list[next])
        }
    }

    public init(loop: EventLoop, seeds: RedisClusterSeeds, name: String, options: RedisOptions = RedisOptions()) {
        self.loop = loop
        self.seeds = seeds
        candidates = Candidates(seeds)
        var options = options
        options.connectTimeout = min(options.connectTimeout, 1_000)
        options.commandTimeout = min(options.commandTimeout, 1_000)
        options.slowestRetry = min(options.slowestRetry, 200)
        scout = RedisConnection(loop: loop, destination: .sought(candidates), name: name, options: options)
        scout.onState = { [unowned self] state in
            switch state {
            case .connecting, .closed: break
            case .ready: queryMap()
            case .disconnected(let reason): if !isLeaving { onTrouble(reason) }
            }
        }
    }

    public func start() { scout.connect() }

    public func close() {
        timer.cancel()
        scout.close()
    }

    /// Asks for the map as soon as `shortestInterval` allows.
    public func refresh() {
        let due = max(loop.now, lastAsked + Self.shortestInterval)
        if let planned = timer.due, planned <= due { return }
        timer.set(at: due)
    }

    func endpoint(of node: ClusterNode) -> RedisEndpoint { seeds.endpoint(of: node) }

    private func queryMap() {
        timer.set(after: needsNews ? Self.urgentInterval : Self.interval)
        guard !isAsking, scout.state == .ready, case .tcp(let host, let port)? = scout.endpoint?.address else { return }
        isAsking = true
        lastAsked = loop.now
        scout.send(["CLUSTER", "SLOTS"]) { [unowned self] result in
            isAsking = false
            guard case .success(let value) = result, let map = SlotMap(value, from: .init(host: host, port: port))
            else {
                var isRefusal = false
                if case .failure(.server(let code, let line)) = result {
                    onTrouble("\(candidates.name): \(line)")
                    isRefusal = code == "NOPERM"
                }
                return switchNode(isRefusal: isRefusal)
            }
            apply(map)
        }
    }

    private func apply(_ map: SlotMap) {
        guard map != self.map else {
            vainAnswers += 1
            if needsNews, vainAnswers >= Self.patience { switchNode() }
            return
        }
        vainAnswers = 0
        let before = self.map
        self.map = map
        let known = map.nodes.map(endpoint(of:))
        candidates.list = known + seeds.seeds.filter { !known.contains($0) }
        onMap(map, before)
    }

    private func switchNode(isRefusal: Bool = false) {
        vainAnswers = 0
        isLeaving = true
        scout.reconnect(reason: "another node is asked", isRefusal: isRefusal)
        isLeaving = false
    }
}
