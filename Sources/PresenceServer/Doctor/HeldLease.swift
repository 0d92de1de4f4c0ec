import PresenceCore
import PresenceProtocol

/// A lease as Redis holds it: `RENEWED UNTIL SINCE` (SINCE may be missing; with `redis.interests` an `i` follows), or
/// `reaping RENEWED CLAIM`.
struct HeldLease: Equatable {
    let isReaping: Bool
    let renewed: Timestamp
    /// When it runs out; of one that is being reaped, when another reaper may take over.
    let until: Timestamp
    /// From when on there has been a server all the time, as far as this one knows.
    let since: Timestamp

    /// `nil` if it is neither.
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

    /// As Lua's `%d+` reads it.
    private static func number(_ text: Substring) -> Timestamp? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Timestamp(text) : nil
    }
}

/// All leases of one moment.
struct HeldLeases {
    let now: Timestamp
    private(set) var leases: [String: HeldLease] = [:]
    /// Incarnations whose lease cannot be read. One of them makes every sweep fail.
    private(set) var malformed: [String] = []
    /// When a server last looked for leases that ran out; `nil` if never, or if that cannot be read.
    private(set) var swept: Timestamp?
    private(set) var isSweptMalformed = false

    /// - Parameter hash: names and values in turn, as `HGETALL` answers.
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

    /// With those that were there earlier and are not any more.
    func with(_ earlier: HeldLeases) -> HeldLeases {
        var both = self
        both.leases.merge(earlier.leases) { now, _ in now }
        both.malformed += earlier.malformed.filter { !hold($0) }
        return both
    }

    /// Whether somebody answers for what this incarnation left: itself, or its reaper.
    func hold(_ incarnation: String) -> Bool { leases[incarnation] != nil || malformed.contains(incarnation) }

    func isLive(_ incarnation: String) -> Bool {
        guard let lease = leases[incarnation] else { return false }
        return !lease.isReaping && lease.until > now
    }

    /// Whether servers are there, but all of them for less than so many ms: until then clients could not come back, and
    /// nothing is reaped.
    func isSettling(within time: Milliseconds) -> Bool {
        let live = leases.filter { isLive($0.key) }.values
        return !live.isEmpty && live.allSatisfy { $0.since > now - time }
    }

    /// Those that are live and have been renewed after a moment: if that was lately, their servers run now.
    func renewing(after moment: Timestamp) -> [String] {
        leases.keys.filter { isLive($0) && leases[$0]!.renewed > moment }.sorted()
    }
}
