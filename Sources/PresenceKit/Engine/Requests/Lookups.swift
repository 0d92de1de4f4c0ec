import PresenceProtocol

/// Numbers the readings of the cache, which are answered in their order.
typealias CacheReading = Int

/// Reads of many people once, put together from what is held, from the server's answers and from the cache.
///
/// What is asked for in one turn leaves together, in as few requests as the server takes. What the server finds too fast
/// is asked for again when it said.
struct Lookups: Sendable {
    private struct Lookup: Sendable {
        let users: [UserID]
        /// The people answered so far.
        var found: [UserID: Person] = [:]
        /// How many requests are on their way.
        var requests = 0
        /// Whether the server is to be asked for the missing people, at that uptime or later; `nil`: not now.
        var due: Duration? = .zero
        /// Why the server does not answer: the cache does then.
        var failure: PresenceError?
        /// The reading of the cache that is for it, until that is done.
        var reading: CacheReading?
        /// Those of the missing people whom the cache knows.
        var remembered: [UserID: Person] = [:]

        /// Those for whom the server has not answered.
        var missing: [UserID] { users.filter { found[$0] == nil } }

        /// Whether there is nobody left to ask: not the server, and not the cache for what that does not answer.
        var isOver: Bool { missing.isEmpty || requests == 0 && due == nil && failure != nil && reading == nil }
    }

    private var lookups: [CallID: Lookup] = [:]

    /// Oldest first.
    var ids: [CallID] { lookups.keys.sorted() }

    /// `known` gives the people who need not be asked for.
    mutating func begin(_ id: CallID, _ users: [UserID], known: (UserID) -> Person?) {
        var lookup = Lookup(users: users)
        for user in users { lookup.found[user] = known(user) }
        lookups[id] = lookup
    }

    mutating func end(_ id: CallID) {
        lookups[id] = nil
    }

    /// The answer, if nobody is missing, or if there is nobody else to ask.
    func result(_ id: CallID) -> People? {
        guard let lookup = lookups[id], lookup.isOver else { return nil }
        let missing = lookup.missing
        let known = missing.isEmpty ? lookup.found : lookup.found.merging(lookup.remembered) { found, _ in found }
        return People(
            lookup.users.compactMap { known[$0] }.filter(\.isFound),
            missing: lookup.users.filter { known[$0]?.isFound != true }.map(\.string),
            unanswered: missing.filter { known[$0] == nil }.map(\.string),
            problem: missing.isEmpty ? nil : lookup.failure)
    }

    /// Whether a call waits for the cache.
    func awaitsCache(_ id: CallID) -> Bool { lookups[id]?.reading != nil }

    // MARK: The server

    /// Asks the server for everybody who is missing.
    mutating func ask(at uptime: Duration, _ limits: ConnectionLimits) -> [Outgoing] {
        var users: [UserID] = []
        var callers: [UserID: [CallID]] = [:]
        for id in ids {
            guard let due = lookups[id]!.due, due <= uptime else { continue }
            lookups[id]!.due = nil
            for user in lookups[id]!.missing {
                if callers[user] == nil { users.append(user) }
                callers[user, default: []].append(id)
            }
        }
        return limits.batches(of: users, bytes: \.longestBytes).map { batch in
            let wanted = Dictionary(uniqueKeysWithValues: batch.map { ($0, callers[$0]!) })
            let calls = Set(wanted.values.joined())
            for call in calls { lookups[call]!.requests += 1 }
            return Outgoing(.get(users: batch), .get(wanted, calls))
        }
    }

    /// The uptime at which there is something to ask for.
    var nextDeadline: Duration? { lookups.values.lazy.compactMap(\.due).min() }

    /// Part of an answer.
    mutating func found(_ person: Person, _ user: UserID, _ id: CallID) {
        lookups[id]?.found[user] = person
    }

    /// A request is answered; whether it was the call's last one.
    mutating func answered(_ id: CallID) -> Bool {
        guard lookups[id] != nil else { return false }
        lookups[id]!.requests -= 1
        return lookups[id]!.requests == 0 && lookups[id]!.due == nil
    }

    /// The server wants to be asked again, later.
    mutating func askLater(_ id: CallID, at uptime: Duration) {
        lookups[id]?.due = uptime
    }

    /// The connection is gone, and its answers will not come.
    mutating func lose(_ id: CallID) {
        lookups[id]?.requests = 0
        lookups[id]?.due = .zero
    }

    // MARK: The cache

    /// The server does not answer some request, for this reason: the cache is asked for all who are missing. Other requests
    /// of the call may still be answered.
    mutating func askCache(_ id: CallID, because error: PresenceError, reading: CacheReading) -> [UserID] {
        guard lookups[id] != nil else { return [] }
        lookups[id]!.failure = error
        lookups[id]!.reading = reading
        return lookups[id]!.missing
    }

    /// There is no server to ask.
    mutating func giveUpServer(_ id: CallID) {
        lookups[id]?.requests = 0
        lookups[id]?.due = nil
    }

    /// Takes the missing people from the cache, if the reading for it is done; the answer, unless the server is still to
    /// give some of it.
    mutating func recall(
        _ id: CallID, upTo done: CacheReading, _ remembered: (UserID) -> Person?
    ) -> People? {
        guard let lookup = lookups[id], let reading = lookup.reading, reading <= done else { return nil }
        for user in lookup.missing { lookups[id]!.remembered[user] = remembered(user) }
        lookups[id]!.reading = nil
        return result(id)
    }
}
