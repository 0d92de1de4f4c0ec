import PresenceProtocol

/// The number of a cache read. Reads complete in order.
typealias CacheReading = Int

/// Reads of many users, assembled from memory, the server's replies, and the cache.
///
/// All lookups of a turn share as few requests as the server allows. Rate-limited ones are repeated at the time that
/// the server names.
struct Lookups: Sendable {
    private struct Lookup: Sendable {
        let users: [UserID]
        /// The users answered so far.
        var found: [UserID: Person] = [:]
        /// The number of requests in flight.
        var requests = 0
        /// When to ask the server for the missing users; `nil`: not now.
        var due: Duration? = .zero
        /// Why the server does not answer, so that the cache is read instead.
        var failure: PresenceError?
        /// The pending cache read for this lookup.
        var reading: CacheReading?
        /// Whether the call only ends with that read if the cache knows all missing users.
        var isTrying = false
        /// The missing users that the cache knows.
        var remembered: [UserID: Person] = [:]

        /// The users for whom the server has not answered.
        var missing: [UserID] { users.filter { found[$0] == nil } }

        /// Whether no source is left: neither the server, nor the cache for users that the server does not answer.
        var isOver: Bool { missing.isEmpty || requests == 0 && due == nil && failure != nil && reading == nil }
    }

    private var lookups: [CallID: Lookup] = [:]

    /// Oldest first.
    var ids: [CallID] { lookups.keys.sorted() }

    /// Begins a lookup. `known` returns the users that need no request.
    mutating func begin(_ id: CallID, _ users: [UserID], known: (UserID) -> Person?) {
        var lookup = Lookup(users: users)
        for user in users { lookup.found[user] = known(user) }
        lookups[id] = lookup
    }

    mutating func end(_ id: CallID) {
        lookups[id] = nil
    }

    /// The result, if no user is missing or no source is left.
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
    func awaitsCache(_ id: CallID) -> Bool { lookups[id].map { $0.reading != nil && !$0.isTrying } ?? false }

    // MARK: The server

    /// Requests all missing users from the server.
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

    /// The uptime at which there is something to request.
    var nextDeadline: Duration? { lookups.values.lazy.compactMap(\.due).min() }

    /// A part of a reply.
    mutating func found(_ person: Person, _ user: UserID, _ id: CallID) {
        lookups[id]?.found[user] = person
    }

    /// A request was answered; returns whether it was the call's last one.
    mutating func answered(_ id: CallID) -> Bool {
        guard lookups[id] != nil else { return false }
        lookups[id]!.requests -= 1
        return lookups[id]!.requests == 0 && lookups[id]!.due == nil
    }

    /// The server asked to repeat the request later.
    mutating func askLater(_ id: CallID, at uptime: Duration) {
        lookups[id]?.due = uptime
    }

    /// The connection has ended, so the replies are lost.
    mutating func lose(_ id: CallID) {
        lookups[id]?.requests = 0
        lookups[id]?.due = .zero
    }

    // MARK: The cache

    /// The server does not answer a request, for this reason: the cache is read for all missing users. Other requests
    /// of the call may still be answered.
    mutating func askCache(_ id: CallID, because error: PresenceError, reading: CacheReading) -> [UserID] {
        guard lookups[id] != nil else { return [] }
        lookups[id]!.failure = error
        if lookups[id]!.isTrying {
            // It is being read.
            lookups[id]!.isTrying = false
            return []
        }
        lookups[id]!.reading = reading
        return lookups[id]!.missing
    }

    /// The cache is read while the server has not been asked yet.
    mutating func tryCache(_ id: CallID, reading: CacheReading) -> [UserID] {
        guard let lookup = lookups[id], lookup.requests == 0, lookup.reading == nil else { return [] }
        lookups[id]!.reading = reading
        lookups[id]!.isTrying = true
        return lookup.missing
    }

    /// The server cannot be asked.
    mutating func giveUpServer(_ id: CallID) {
        lookups[id]?.requests = 0
        lookups[id]?.due = nil
    }

    /// Takes the missing users from the cache, once the read for this lookup is done. Returns the result, unless
    /// replies of the server are still pending.
    mutating func recall(
        _ id: CallID, upTo done: CacheReading, _ remembered: (UserID) -> Person?
    ) -> People? {
        guard let lookup = lookups[id], let reading = lookup.reading, reading <= done else { return nil }
        for user in lookup.missing { lookups[id]!.remembered[user] = remembered(user) }
        lookups[id]!.reading = nil
        if lookup.isTrying {
            lookups[id]!.isTrying = false
            let isKnown = lookup.missing.allSatisfy { lookups[id]!.remembered[$0] != nil }
            // The server has been asked meanwhile, or is the only one to know.
            guard isKnown, lookup.requests == 0, lookup.due != nil else { return nil }
            lookups[id]!.failure = PresenceError(.notConnected, "not connected yet")
            lookups[id]!.due = nil
        }
        return result(id)
    }
}
