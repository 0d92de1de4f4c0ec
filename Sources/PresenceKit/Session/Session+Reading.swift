import Foundation
import PresenceProtocol

// What the app's loops get to see.
extension Session {
    mutating func nextPresence(_ id: LoopID) -> PersonPresence? {
        news(id) { session, topic, seen in
            guard let user = topic.users.first, let person = session.people[user],
                person.presenceStamp > seen
            else { return nil }
            return session.presence(of: user, person)
        }
    }

    mutating func nextProfile(_ id: LoopID) -> PersonProfile? {
        news(id) { session, topic, seen in
            guard let user = topic.users.first, let person = session.people[user], person.profileStamp > seen else {
                return nil
            }
            return session.profile(of: user, person)
        }
    }

    mutating func nextPerson(_ id: LoopID) -> Person? {
        news(id) { session, topic, seen in
            guard let user = topic.users.first, let person = session.people[user], person.stamp > seen else {
                return nil
            }
            return session.person(user, person)
        }
    }

    mutating func nextRoster(_ id: LoopID) -> Roster? {
        // Out of the dictionary while it changes, so that it need not be copied.
        guard var roster = rosters.removeValue(forKey: id) else { return nil }
        defer { rosters[id] = roster }
        return roster.next { string in
            guard let user = UserID(string) else { return .refused(string) }
            return people[user].flatMap { person(user, $0) }
        }
    }

    mutating func nextTyping(_ id: LoopID) -> Typing? {
        news(id) { session, topic, seen in
            guard let id = topic.conversation, let held = session.conversations[id], held.stamp > seen else {
                return nil
            }
            return session.typing(in: id, held)
        }
    }

    mutating func nextConnectionState(_ id: LoopID) -> ConnectionState? {
        news(id) { session, _, seen in session.connectionStamp > seen ? session.connectionState : nil }
    }

    mutating func nextOwnStatus(_ id: LoopID) -> MyStatus? {
        news(id) { session, _, seen in
            guard session.ownStatusStamp > seen, let status = session.ownStatus else { return nil }
            return MyStatus(
                status: status.status, text: status.text, clearsAt: status.clearAt.map(Date.init(timestamp:)),
                freshness: session.freshness(isConfirmed: true, staleSince: session.ownStatusStaleSince))
        }
    }

    mutating func nextKeptProfile(_ id: LoopID) -> KeptProfileChanges? {
        news(id) { session, _, seen in
            guard session.keptProfileStamp > seen else { return nil }
            return KeptProfileChanges(waiting: session.profileQueue.waiting, refusal: session.profileQueue.refusal)
        }
    }

    /// Asks for an element; if there is one, the loop has seen everything up to now.
    private mutating func news<Element>(
        _ id: LoopID, _ read: (borrowing Session, Topic, UInt64) -> Element?
    ) -> Element? {
        guard let loop = loops[id], let element = read(self, loop.topic, loop.seen) else { return nil }
        loops[id]!.seen = stamp
        return element
    }

    // MARK: Elements

    var connectionState: ConnectionState {
        switch phase {
        case .idle: .idle
        case .fetchingToken, .dialling, .introducing: .connecting
        case .connected: serverStaleSince.map { .stale(since: $0) } ?? .live
        case .waiting(_, let delay, let error): .reconnecting(in: delay, because: error)
        case .closed(let error): .closed(error)
        }
    }

    private func freshness(isConfirmed: Bool, staleSince: Date?, refusal: PresenceError? = nil) -> Freshness {
        if let refusal { return .refused(refusal) }
        if isConfirmed, isConnected, staleSince == nil {
            return serverStaleSince.map { .stale(since: $0) } ?? .live
        }
        return .stale(since: staleSince ?? .distantPast)
    }

    /// The freshness of what was read just now.
    var freshnessNow: Freshness {
        serverStaleSince.map { .stale(since: $0) } ?? .live
    }

    private func freshness(of person: HeldPerson) -> Freshness {
        freshness(isConfirmed: person.isConfirmed, staleSince: person.staleSince, refusal: person.watch.refusal)
    }

    func presence(of user: UserID, _ person: HeldPerson) -> PersonPresence? {
        guard person.presence != nil || person.watch.refusal != nil else { return nil }
        return PersonPresence(
            user: user.string, person.presence ?? .unknown, freshness: freshness(of: person),
            arrival: person.presenceArrival)
    }

    func profile(of user: UserID, _ person: HeldPerson) -> PersonProfile? {
        guard person.profile != nil || person.watch.refusal != nil else { return nil }
        return PersonProfile(
            user: user.string, person.profile ?? .none, freshness: freshness(of: person),
            arrival: person.profileArrival)
    }

    func person(_ user: UserID, _ held: HeldPerson) -> Person? {
        guard let presence = presence(of: user, held), let profile = profile(of: user, held) else { return nil }
        return Person(presence: presence, profile: profile)
    }

    private func typing(in id: ConversationID, _ held: HeldConversation) -> Typing? {
        guard held.isKnown || held.watch.refusal != nil else { return nil }
        return Typing(
            conversation: id.string, users: held.users.filter { $0 != user }.map(\.string), more: held.more,
            freshness: freshness(
                isConfirmed: held.isConfirmed, staleSince: held.staleSince, refusal: held.watch.refusal),
            arrival: held.arrival)
    }
}

extension Person {
    /// Somebody who was not asked for.
    static func refused(_ user: String) -> Person {
        let freshness = Freshness.refused(.invalidID(user))
        return Person(
            presence: PersonPresence(user: user, freshness: freshness),
            profile: PersonProfile(user: user, freshness: freshness))
    }
}

extension PresenceError {
    static func invalidID(_ id: String) -> PresenceError {
        PresenceError(.invalidID, "not an id (1 to 128 bytes of printable ASCII without space): \(id.debugDescription)")
    }
}
