import PresenceProtocol

// Reads of many users: from memory, from the server, from the cache.
extension Engine {
    mutating func lookUp(_ users: [UserID], _ id: CallID) {
        let (people, link) = (watchlist.people, link)
        lookups.begin(id, users) { user in
            // A user who is observed and live does not need a request.
            guard let held = people[user], held.isConfirmed, link.state == .live else { return nil }
            return held.person(user, on: link)
        }
        if let people = lookups.result(id) { return answer(id, .success(.people(people))) }
        if link.isAway {
            askCacheInstead(id, because: link.whyAway)
        } else if link.isSlow {
            tryCache(id)
        }
    }

    /// The first connection takes long: a call whose users are all cached does not wait for it.
    mutating func tryCache(_ id: CallID) {
        readCache(lookups.tryCache(id, reading: lastReading + 1))
    }

    /// The server cannot be asked; the cache may have a value.
    mutating func askCacheInstead(_ id: CallID, because error: PresenceError) {
        lookups.giveUpServer(id)
        askCache(id, because: error)
    }

    /// The server does not answer a request; the cache may have a value.
    private mutating func askCache(_ id: CallID, because error: PresenceError) {
        guard lookups.ids.contains(id) else { return }
        readCache(lookups.askCache(id, because: error, reading: lastReading + 1))
    }

    /// A part of a reply.
    mutating func found(_ request: Int64?, _ users: [UserSnapshot], more: Bool, at now: Moment) {
        guard let request, case .get(let wanted, let calls) = requests[request] else { return }
        let date = link.clock.date(at: now)
        var unheld: [CachedPerson] = []
        for snapshot in users {
            let (user, presence, profile) = (
                snapshot.user, snapshot.presence ?? .unknown, snapshot.profile ?? ProfileRegister.none
            )
            let person = Person(
                presence: PersonPresence(user: user.string, presence, freshness: link.freshness),
                profile: PersonProfile(user: user.string, profile, freshness: link.freshness))
            for call in wanted[user] ?? [] { lookups.found(person, user, call) }
            // The value of an observed user is newer.
            if watchlist.people[user] == nil {
                unheld.append(CachedPerson(user: user, asOf: date, presence: presence, profile: profile))
            }
        }
        if !unheld.isEmpty { emit(.writeCache(unheld)) }
        guard !more else { return }
        _ = requests.take(request)
        for call in calls.sorted() where lookups.answered(call) {
            if let people = lookups.result(call) {
                answer(call, .success(.people(people)))
            } else if !lookups.awaitsCache(call) {
                let message = "the server left out people that it was asked for"
                answer(call, .failure(PresenceError(.protocolViolation, message)))
            }
        }
    }

    /// The server could not answer, or rejected the request.
    mutating func refuseLookups(_ calls: Set<CallID>, _ error: PresenceError, at now: Moment) {
        for call in calls.sorted() {
            _ = lookups.answered(call)
            switch error.code {
            case .rateLimited: lookups.askLater(call, at: now.uptime + error.delay)
            case _ where error.isPassing: askCache(call, because: error)
            default: answer(call, .failure(error))
            }
        }
    }

    /// The cache has replied: each lookup that the server does not answer takes its missing values from it, and ends.
    mutating func recallLookups(_ found: [CachedPerson]) {
        let byUser = Dictionary(found.map { ($0.user, $0) }, uniquingKeysWith: { $1 })
        let (people, link) = (watchlist.people, link)
        for id in lookups.ids {
            let result = lookups.recall(id, upTo: lastRead) { user in
                if let held = people[user], held.isKnown { return held.person(user, on: link) }
                return byUser[user.string].map { Person($0, as: user) }
            }
            if let result { answer(id, .success(.people(result))) }
        }
    }
}

extension Person {
    /// Creates a user's value from the cache.
    fileprivate init(_ cached: CachedPerson, as user: UserID) {
        let freshness = Freshness.stale(since: cached.asOf)
        self.init(
            presence: PersonPresence(user: user.string, cached.presenceRegister, freshness: freshness),
            profile: PersonProfile(user: user.string, cached.profileRegister, freshness: freshness))
    }
}
