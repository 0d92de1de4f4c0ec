import EventLoops

/// Subscribes to channels of a cluster, each at the master that serves the channel's slot.
///
/// A cluster forwards every plain message to all of its nodes, over links between nodes, where a message can be lost
/// without notice. A script publishes at the master of its keys. A subscription at that master depends on no such link,
/// and a break of the subscription is noticed. While a slot moves, its messages arrive over the links until the new
/// master has confirmed the subscription; the owner must then read messages that may have been lost meanwhile
/// (`onMoved`).
///
/// In addition, every subscription has a canary channel of its own, which tests it from end to end.
///
/// Confined to the loop's thread. Its owner closes it before releasing it.
public final class ClusterSubscriber {
    public private(set) var isSubscribed = false
    public var onSubscribed: () -> Void = {}
    public var onLost: (_ reason: String) -> Void = { _ in }
    /// These channels, by their indices, are now subscribed at another master.
    public var onMoved: (_ channels: Set<Int>) -> Void = { _ in }
    /// A message: the channel as its index, the payload valid during the call.
    public var onMessage: (_ channel: Int, _ payload: UnsafeRawBufferPointer) -> Void = { _, _ in }
    public var onCanary: (_ master: ClusterNode, _ payload: UnsafeRawBufferPointer) -> Void = { _, _ in }

    private let loop: EventLoop
    private let directory: ClusterDirectory
    private let name: String
    private let options: RedisOptions
    private let channels: [String]
    private let slots: [Int]
    private let canary: String
    private var feeds: [ClusterNode: Feed] = [:]
    /// Feeds that will replace another feed, or be added, once they are confirmed.
    private var successors: [ClusterNode: Feed] = [:]
    /// Closed feeds; released when none of their functions is on the stack.
    private var retired: [Feed] = []
    private lazy var funeral = LoopTimer(loop) { [unowned self] in retired = [] }

    private final class Feed {
        let channels: [Int]
        let subscriber: RedisSubscriber
        var isConfirmed: Bool { subscriber.state == .subscribed }
        init(_ channels: [Int], _ subscriber: RedisSubscriber) {
            self.channels = channels
            self.subscriber = subscriber
        }
    }

    public init(
        loop: EventLoop, directory: ClusterDirectory, name: String, channels: [String], canary: String,
        options: RedisOptions = RedisOptions()
    ) {
        self.loop = loop
        self.directory = directory
        self.name = name
        self.channels = channels
        self.canary = canary
        self.options = options
        slots = channels.map(HashSlot.of)
    }

    /// The masters whose canary must arrive.
    public var masters: Set<ClusterNode> { Set(feeds.keys).union(successors.keys) }

    /// The canary channel of a master, published at that master.
    public func canaryChannel(of master: ClusterNode) -> String { "\(canary):\(master)" }

    public func close() {
        isSubscribed = false
        for feed in feeds.values { feed.subscriber.close() }
        for feed in successors.values { feed.subscriber.close() }
        feeds = [:]
        successors = [:]
        funeral.cancel()
        retired = []
    }

    /// Drops all subscriptions and subscribes again.
    public func reconnect(reason: String) {
        for feed in feeds.values { feed.subscriber.reconnect(reason: reason) }
        for feed in successors.values { feed.subscriber.reconnect(reason: reason) }
    }

    /// The directory's map has changed, or is the first.
    public func apply(_ map: SlotMap, before: SlotMap?) {
        var wanted: [ClusterNode: [Int]] = [:]
        for (channel, slot) in slots.enumerated() {
            if let master = map[slot] { wanted[master, default: []].append(channel) }
        }
        for (master, channels) in wanted {
            let newest = successors[master] ?? feeds[master]
            guard newest?.channels != channels else { continue }
            if let overtaken = successors[master] { retire(overtaken) }
            successors[master] = feed(of: master, channels)
        }
        for (master, feed) in successors where wanted[master] == nil {
            retire(feed)
            successors[master] = nil
        }
        // The replica that replaced a master may lack the master's last messages.
        if let before, map.hasLost(aMasterOf: before) { lose("a master was replaced") }
        gone = Set(feeds.keys).subtracting(wanted.keys)
        promoteSuccessors()
    }

    /// Masters that no longer serve any of our channels; kept until their successors are confirmed.
    private var gone: Set<ClusterNode> = []

    private func feed(of master: ClusterNode, _ indices: [Int]) -> Feed {
        let subscriber = RedisSubscriber(
            loop: loop, endpoint: directory.endpoint(of: master), name: name,
            channels: indices.map { channels[$0] } + [canaryChannel(of: master)], options: options)
        let feed = Feed(indices, subscriber)
        subscriber.onMessage = { [unowned self] channel, payload in
            if channel < indices.count { onMessage(indices[channel], payload) } else { onCanary(master, payload) }
        }
        subscriber.onState = { [unowned self, unowned feed] state in
            switch state {
            case .connecting, .closed: break
            case .subscribed: confirm(feed, of: master)
            case .lost(let reason):
                // A successor that never connects is noticed by its missing canary.
                if feeds[master] === feed { lose(reason) }
                directory.refresh()
            }
        }
        subscriber.connect()
        return feed
    }

    /// A feed that gains channels replaces the old one immediately. A feed that only loses channels waits until the
    /// feeds that gain them are confirmed: it is better to receive a message twice than not at all.
    private func confirm(_ feed: Feed, of master: ClusterNode) {
        if successors[master] === feed, !Set(feed.channels).isSubset(of: feeds[master]?.channels ?? []) {
            promote(feed, of: master)
        }
        promoteSuccessors()
    }

    private func promote(_ feed: Feed, of master: ClusterNode) {
        successors[master] = nil
        let before = feeds[master]
        feeds[master] = feed
        if let before { retire(before) }
        let gained = Set(feed.channels).subtracting(before?.channels ?? [])
        if isSubscribed, !gained.isEmpty { onMoved(gained) }
    }

    private func promoteSuccessors() {
        guard successors.values.allSatisfy(\.isConfirmed) else { return }
        for (master, feed) in successors { promote(feed, of: master) }
        for master in gone {
            if let feed = feeds.removeValue(forKey: master) { retire(feed) }
        }
        gone = []
        guard !isSubscribed, !feeds.isEmpty, feeds.values.allSatisfy(\.isConfirmed),
            feeds.values.reduce(0, { $0 + $1.channels.count }) == channels.count
        else { return }
        isSubscribed = true
        onSubscribed()
    }

    private func lose(_ reason: String) {
        guard isSubscribed else { return }
        isSubscribed = false
        onLost(reason)
    }

    private func retire(_ feed: Feed) {
        feed.subscriber.close()
        retired.append(feed)
        funeral.set(after: 0)
    }
}
