import Redis

/// A store that adds keys to scripts, after their own. The keys only carry facts; lib.lua reads them:
/// - the partition's stream `offers`, if events are recorded for consumers outside: the function `offer` writes to this stream.
///   So an event is stored in the same step as its change, and without consumers scripts do no extra work;
/// - the name of the current request (`{p017}:request:NAME`), if requests are traced: scripts publish it before each event.
final class KeyAddingStore: Store {
    private let store: any Store
    private let hasOffers: Bool
    private let trace: RequestTrace?

    init(_ store: any Store, hasOffers: Bool, _ trace: RequestTrace?) {
        (self.store, self.hasOffers, self.trace) = (store, hasOffers, trace)
    }

    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply) {
        var all = keys
        // Keys without a partition (the leases) are not changed.
        if let first = keys.first, let end = first.firstIndex(of: "}") {
            if hasOffers { all = PartitionKeys.offering(keys) }
            if let name = trace?.current { all.append(first[...end] + ":request:" + name) }
        }
        store.run(script, keys: all, arguments: arguments, lane: lane, reply: trace?.carry(reply) ?? reply)
    }

    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        store.command(words, lane: lane, reply: trace?.carry(reply) ?? reply)
    }

    func subscribe(canary: String) { store.subscribe(canary: canary) }
    var pending: Int { store.pending }
    var isFull: Bool { store.isFull }
    func follow(_ channel: String, partition: Int) { store.follow(channel, partition: partition) }
    func leave(_ channel: String) { store.leave(channel) }
    var isSubscribing: Bool { store.isSubscribing }
    func overhear(_ pattern: String?) { store.overhear(pattern) }
    func reconnect() { store.reconnect() }
    var hasOneClock: Bool { store.hasOneClock }
}

extension PartitionKeys {
    /// The events for consumers outside: a stream.
    package var offers: String { name + ":offers" }
    /// A script's keys as servers pass them that record such events.
    package static func offering(_ keys: [String]) -> [String] {
        guard let first = keys.first, let end = first.firstIndex(of: "}") else { return keys }
        return keys + [first[...end] + ":offers"]
    }
}

extension ServerConfiguration {
    /// Whether any enabled feature among these needs events to be recorded.
    package func needsOffers(for features: [any Feature.Type]) -> Bool {
        enabled(features).contains { $0.plan.needsOffers(self) }
    }
}
