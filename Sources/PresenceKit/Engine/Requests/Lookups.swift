import PresenceProtocol

/// Reads of many people once, put together from what is held, from the server's answers and from the cache.
struct Lookups: Sendable {
    private struct Lookup: Sendable {
        let users: [UserID]
        /// The people answered so far.
        var found: [UserID: Person] = [:]
        /// How many requests are on their way.
        var requests = 0
        /// What the call fails with if the cache cannot answer either; `nil` while the server may still answer.
        var failure: PresenceError?

        var missing: [UserID] { users.filter { found[$0] == nil } }
        /// In the order asked.
        var people: [Person] { users.compactMap { found[$0] } }
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

    /// The people asked for, if none is missing.
    func result(_ id: CallID) -> [Person]? {
        lookups[id].flatMap { $0.missing.isEmpty ? $0.people : nil }
    }

    // MARK: The server

    /// Asks the server for the missing people.
    mutating func ask(_ id: CallID, _ limits: ConnectionLimits) -> [Outgoing] {
        guard let lookup = lookups[id], lookup.requests == 0 else { return [] }
        let batches = limits.batches(of: lookup.missing, bytes: \.longestBytes)
        lookups[id]!.requests = batches.count
        return batches.map { Outgoing(.get(users: $0), .get($0, id)) }
    }

    /// Part of an answer.
    mutating func found(_ person: Person, _ user: UserID, _ id: CallID) {
        lookups[id]?.found[user] = person
    }

    /// A request is answered; whether it was the last one.
    mutating func answered(_ id: CallID) -> Bool {
        guard lookups[id] != nil else { return false }
        lookups[id]!.requests -= 1
        return lookups[id]!.requests == 0
    }

    /// The connection is gone, and its answers will not come.
    mutating func lose(_ id: CallID) {
        lookups[id]?.requests = 0
    }

    // MARK: The cache

    /// Asks the cache for the missing people; `error` is what the call fails with if that is not enough. Without one,
    /// it goes on waiting for a connection.
    mutating func askCache(_ id: CallID, failingWith error: PresenceError?) -> [Directive] {
        guard lookups[id] != nil else { return [] }
        lookups[id]!.failure = error
        return [.readCache(lookups[id]!.missing)]
    }

    /// Takes the missing people from the cache; answers if that was enough, or if there is nothing else to ask.
    mutating func recall(
        _ id: CallID, whileConnected isConnected: Bool, _ remembered: (UserID) -> Person?
    ) -> Result<[Person], PresenceError>? {
        guard var lookup = lookups[id], lookup.requests == 0, !isConnected || lookup.failure != nil else { return nil }
        // What is not enough is not kept: the server may answer yet, with something newer.
        for user in lookup.missing { lookup.found[user] = remembered(user) }
        if lookup.missing.isEmpty { return .success(lookup.people) }
        return lookup.failure.map { .failure($0) }
    }
}
