import Redis

/// A store whose scripts record events for consumers outside: each script gets one more key, the last one: its
/// partition's stream `offers`. If a script has this key, the function `offer` (lib.lua) writes to the stream. So an
/// event is stored in the same step as its change, and without consumers scripts do no extra work.
final class OfferingStore: Store {
    private let store: any Store

    init(_ store: any Store) { self.store = store }

    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply) {
        store.run(script, keys: Self.adding(to: keys), arguments: arguments, lane: lane, reply: reply)
    }

    /// Keys without a partition (the leases) are not changed.
    static func adding(to keys: [String]) -> [String] {
        guard let first = keys.first, let end = first.firstIndex(of: "}") else { return keys }
        return keys + [first[...end] + ":offers"]
    }

    func command(_ words: [String], lane: StoreLane, reply: @escaping StoreReply) {
        store.command(words, lane: lane, reply: reply)
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
    package static func offering(_ keys: [String]) -> [String] { OfferingStore.adding(to: keys) }
}

extension ServerConfiguration {
    /// Whether any enabled feature among these needs events to be recorded.
    package func needsOffers(for features: [any Feature.Type]) -> Bool {
        enabled(features).contains { $0.plan.needsOffers(self) }
    }
}
