import Redis

/// A store whose scripts write down what happens for others outside: to each script it gives one key more, its partition's
/// stream `offers`, as the last one. By that key the function `offer` (lib.lua) knows that it is to write. So an event is kept in
/// the same moment as the change that it tells of; and where nobody wants events, no script does more than before.
final class OfferingStore: Store {
    private let store: any Store

    init(_ store: any Store) { self.store = store }

    func run(_ script: Script, keys: [String], arguments: [String], lane: StoreLane, reply: @escaping StoreReply) {
        store.run(script, keys: Self.adding(to: keys), arguments: arguments, lane: lane, reply: reply)
    }

    /// Keys of no partition (the leases) stay as they are.
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
    /// What happened here and others outside have still to be told: a stream.
    package var offers: String { name + ":offers" }
    /// A script's keys as servers give them that write such events down.
    package static func offering(_ keys: [String]) -> [String] { OfferingStore.adding(to: keys) }
}

extension ServerConfiguration {
    /// Whether the enabled ones among these features want events to be written down.
    package func needsOffers(for features: [any Feature.Type]) -> Bool {
        enabled(features).contains { $0.plan.needsOffers(self) }
    }
}
