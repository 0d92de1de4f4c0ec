import PresenceProtocol

// Reading many people once: from what is held, from the server, from the cache.
extension Engine {
    mutating func lookUp(_ users: [UserID], _ id: CallID) {
        let (people, link) = (watchlist.people, link)
        lookups.begin(id, users) { user in
            // A person who is observed and live need not be asked for.
            guard let held = people[user], held.isConfirmed, link.state == .live else { return nil }
            return held.person(user, on: link)
        }
        if let people = lookups.result(id) { return answer(id, .success(.people(people))) }
        if link.isConnected {
            send(lookups.ask(id, link.limits))
        } else if link.isAway {
            askCache(id)
        }
    }

    /// There is no connection: the cache may have the answer. Once closed, there is nothing else to wait for.
    mutating func askCache(_ id: CallID) {
        emit(lookups.askCache(id, failingWith: link.isClosed ? link.whyAway : nil))
    }

    /// Part of an answer.
    mutating func found(_ request: Int64?, _ users: [UserSnapshot], more: Bool, at now: Moment) {
        guard let request, case .get(_, let id) = requests[request] else { return }
        let date = link.clock.date(at: now)
        var unheld: [CachedPerson] = []
        for snapshot in users {
            let (user, presence, profile) = (
                snapshot.user, snapshot.presence ?? .unknown, snapshot.profile ?? ProfileRegister.none
            )
            let person = Person(
                presence: PersonPresence(user: user.string, presence, freshness: link.freshness),
                profile: PersonProfile(user: user.string, profile, freshness: link.freshness))
            lookups.found(person, user, id)
            // What is held of an observed person is newer.
            if watchlist.people[user] == nil {
                unheld.append(CachedPerson(user: user, asOf: date, presence: presence, profile: profile))
            }
        }
        if !unheld.isEmpty { emit(.writeCache(unheld)) }
        guard !more else { return }
        _ = requests.take(request)
        guard lookups.answered(id) else { return }
        if let people = lookups.result(id) {
            answer(id, .success(.people(people)))
        } else {
            answer(id, .failure(PresenceError(.protocolViolation, "the server left out people that it was asked for")))
        }
    }

    /// The server could not, or would not, answer.
    mutating func refuseLookup(_ id: CallID, _ error: PresenceError) {
        guard error.isPassing else { return answer(id, .failure(error)) }
        _ = lookups.answered(id)
        emit(lookups.askCache(id, failingWith: error))
    }

    /// The cache has answered: every lookup takes what it lacks. A lookup that the server cannot answer ends.
    mutating func recallLookups(_ found: [CachedPerson]) {
        let byUser = Dictionary(found.map { ($0.user, $0) }, uniquingKeysWith: { $1 })
        let (people, link) = (watchlist.people, link)
        for id in lookups.ids {
            let result = lookups.recall(id, whileConnected: link.isConnected) { user in
                if let held = people[user], held.isKnown { return held.person(user, on: link) }
                return byUser[user.string].map { Person($0, as: user) }
            }
            if let result { answer(id, result.map { .people($0) }) }
        }
    }
}

extension Person {
    /// A person as they were cached.
    fileprivate init(_ cached: CachedPerson, as user: UserID) {
        let freshness = Freshness.stale(since: cached.asOf)
        self.init(
            presence: PersonPresence(user: user.string, cached.presenceRegister, freshness: freshness),
            profile: PersonProfile(user: user.string, cached.profileRegister, freshness: freshness))
    }
}
