import Foundation
import PresenceProtocol

// Reading many people once: from what is held, from the server, from the cache.
extension Session {
    mutating func read(_ users: [UserID], _ id: CallID, at now: Moment) {
        var reading = Reading(users: users)
        for user in reading.users {
            // Whoever is observed and live need not be asked for.
            if let held = people[user], held.isConfirmed, isConnected, serverStaleSince == nil {
                reading.found[user] = person(user, held)
            }
        }
        readings[id] = reading
        if finish(id) { return }
        if isConnected {
            ask(for: id)
        } else if isAway {
            askCache(for: id, failingWith: isClosed ? whyAway : nil)
        }
    }

    /// Asks the server for what is missing.
    mutating func ask(for id: CallID) {
        guard var reading = readings[id], reading.requests == 0 else { return }
        let batches = batches(of: reading.missing) { $0.string.utf8.count * 2 + 3 }
        reading.requests = batches.count
        readings[id] = reading
        for batch in batches { send(.get(users: batch), .get(batch, id)) }
    }

    /// Asks the cache for what is missing; `error` is what the call fails with if that is not enough. Without one, it
    /// goes on waiting for a connection.
    mutating func askCache(for id: CallID, failingWith error: PresenceError?) {
        guard readings[id] != nil else { return }
        readings[id]!.failure = error
        say(.readCache(readings[id]!.missing))
    }

    /// Part of an answer.
    mutating func read(_ request: Int64?, _ users: [UserSnapshot], more: Bool, at now: Moment) {
        guard let request, case .get(_, let id) = requests[request] else { return }
        if !more { requests[request] = nil }
        let freshness = freshnessNow
        let date = clock.date(at: now)
        var cached: [CachedPerson] = []
        for snapshot in users {
            let presence = snapshot.presence ?? .unknown
            let profile = snapshot.profile ?? .none
            readings[id]?.found[snapshot.user] = Person(
                presence: PersonPresence(user: snapshot.user.string, presence, freshness: freshness),
                profile: PersonProfile(user: snapshot.user.string, profile, freshness: freshness))
            // Whoever is observed is known better already.
            if people[snapshot.user] == nil {
                cached.append(CachedPerson(user: snapshot.user, asOf: date, presence: presence, profile: profile))
            }
        }
        if !cached.isEmpty { say(.writeCache(cached)) }
        guard !more, readings[id] != nil else { return }
        readings[id]!.requests -= 1
        guard readings[id]!.requests == 0 else { return }
        if !finish(id) {
            answer(id, .failure(PresenceError(.protocolViolation, "the server left out people that it was asked for")))
        }
    }

    /// The server could not, or would not, answer.
    mutating func failReading(_ id: CallID, _ error: PresenceError) {
        guard readings[id] != nil else { return }
        if error.isPassing {
            readings[id]!.requests -= 1
            askCache(for: id, failingWith: error)
        } else {
            answer(id, .failure(error))
        }
    }

    /// The cache has answered: every reading takes what it lacks, and those that the server cannot answer end.
    mutating func recallReadings(_ found: [CachedPerson]) {
        let byUser = Dictionary(found.map { ($0.user, $0) }, uniquingKeysWith: { $1 })
        for id in readings.keys.sorted() {
            guard let reading = readings[id], reading.requests == 0, !isConnected || reading.failure != nil else {
                continue
            }
            var complete = reading
            for user in reading.missing { complete.found[user] = remembered(user, byUser[user.string]) }
            if complete.missing.isEmpty {
                answer(id, .success(.people(complete.people)))
            } else if let failure = reading.failure {
                answer(id, .failure(failure))
            }
        }
    }

    /// What is held of somebody, or was cached.
    private func remembered(_ user: UserID, _ cached: CachedPerson?) -> Person? {
        if let held = people[user], held.isKnown { return person(user, held) }
        guard let cached else { return nil }
        let freshness = Freshness.stale(since: cached.asOf)
        return Person(
            presence: PersonPresence(user: user.string, cached.presenceRegister, freshness: freshness),
            profile: PersonProfile(user: user.string, cached.profileRegister, freshness: freshness))
    }

    /// Answers a reading that lacks nobody.
    private mutating func finish(_ id: CallID) -> Bool {
        guard let reading = readings[id], reading.missing.isEmpty else { return false }
        answer(id, .success(.people(reading.people)))
        return true
    }
}
