import PresenceCore
import PresenceProtocol

/// A lease as stored in Redis: `RENEWED UNTIL SINCE` (SINCE may be missing; with `redis.interests` an `i` follows), or
/// `reaping RENEWED CLAIM`.
struct HeldLease: Equatable {
    let isReaping: Bool
    let renewed: Timestamp
    /// When the lease expires; while it is being reaped, when another reaper may take over.
    let until: Timestamp
    /// Since when at least one server has been running without a gap, as far as this server knows.
    let since: Timestamp

    /// `nil` if the value has neither of the two forms.
    init?(_ value: String) {
        var words = value.split(separator: " ", omittingEmptySubsequences: false)[...]
        isReaping = words.first == "reaping"
        if isReaping { words = words.dropFirst() }
        if !isReaping, words.count == 4, words.last == "i" { words = words.dropLast() }
        guard words.count == 2 || words.count == 3 && !isReaping, words.allSatisfy({ Self.number($0) != nil }),
            let renewed = Self.number(words[words.startIndex]), let until = Self.number(words[words.startIndex + 1])
        else { return nil }
        self.renewed = renewed
        self.until = until
        since = words.count == 3 ? Self.number(words.last!) ?? 0 : 0
    }

    /// Accepts the same texts as Lua's `%d+`.
    private static func number(_ text: Substring) -> Timestamp? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Timestamp(text) : nil
    }
}

/// All leases at one moment.
struct HeldLeases {
    let now: Timestamp
    private(set) var leases: [String: HeldLease] = [:]
    /// Incarnations whose lease cannot be read. A single such lease makes every sweep fail.
    private(set) var malformed: [String] = []
    /// The time of the last sweep; `nil` if there was none, or if the time cannot be read.
    private(set) var swept: Timestamp?
    private(set) var isSweptMalformed = false

    /// - Parameter hash: Names and values alternating, as returned by `HGETALL`.
    init(_ hash: [String], now: Timestamp) {
        self.now = now
        for index in stride(from: 0, to: hash.count - 1, by: 2) {
            let (name, value) = (hash[index], hash[index + 1])
            if name == "swept" {
                swept = Timestamp(value)
                isSweptMalformed = swept == nil
            } else if let lease = HeldLease(value) {
                leases[name] = lease
            } else {
                malformed.append(name)
            }
        }
    }

    /// Adds leases that existed earlier and no longer exist.
    func with(_ earlier: HeldLeases) -> HeldLeases {
        var both = self
        both.leases.merge(earlier.leases) { now, _ in now }
        both.malformed += earlier.malformed.filter { !hold($0) }
        return both
    }

    /// Whether the incarnation itself or a reaper is responsible for its sessions.
    func hold(_ incarnation: String) -> Bool { leases[incarnation] != nil || malformed.contains(incarnation) }

    func isLive(_ incarnation: String) -> Bool {
        guard let lease = leases[incarnation] else { return false }
        return !lease.isReaping && lease.until > now
    }

    /// Whether all live servers have been running for less than `time` ms. Until then clients have had no time to reconnect,
    /// and nothing is reaped.
    func isSettling(within time: Milliseconds) -> Bool {
        let live = leases.filter { isLive($0.key) }.values
        return !live.isEmpty && live.allSatisfy { $0.since > now - time }
    }

    /// Live incarnations renewed after a moment. If that moment is recent, their servers are running now.
    func renewing(after moment: Timestamp) -> [String] {
        leases.keys.filter { isLive($0) && leases[$0]!.renewed > moment }.sorted()
    }
}
