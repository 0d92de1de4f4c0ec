import Foundation
import PresenceProtocol

// The elements for the app, made from stored values; `link` determines their freshness.

extension HeldPerson {
    func presence(of user: UserID, on link: Link) -> PersonPresence? {
        guard presence != nil || problem(on: link) != nil else { return nil }
        return PersonPresence(
            user: user.string, presence ?? .unknown, freshness: freshness(on: link), problem: problem(on: link),
            arrival: presenceArrival)
    }

    func profile(of user: UserID, on link: Link) -> PersonProfile? {
        guard profile != nil || problem(on: link) != nil else { return nil }
        return PersonProfile(
            user: user.string, profile ?? .none, freshness: freshness(on: link), problem: problem(on: link),
            arrival: profileArrival)
    }

    func person(_ user: UserID, on link: Link) -> Person? {
        guard let presence = presence(of: user, on: link), let profile = profile(of: user, on: link) else {
            return nil
        }
        return Person(presence: presence, profile: profile)
    }

    private func freshness(on link: Link) -> Freshness {
        watch.refusal == nil
            ? link.freshness(isConfirmed: isConfirmed, staleSince: staleSince)
            : .stale(since: staleSince ?? .distantPast)
    }

    private func problem(on link: Link) -> PresenceError? { watch.refusal ?? link.closingProblem }
}

extension HeldConversation {
    /// The typing users, without the signed-in user.
    func typing(in id: ConversationID, without me: UserID?, on link: Link) -> Typing? {
        let problem = watch.refusal ?? link.closingProblem
        guard isKnown || problem != nil else { return nil }
        let freshness = link.freshness(isConfirmed: isConfirmed, staleSince: staleSince)
        return Typing(
            conversation: id.string, users: users.filter { $0 != me }.map(\.string), othersCount: more,
            freshness: watch.refusal == nil ? freshness : .stale(since: staleSince ?? .distantPast), problem: problem,
            arrival: arrival)
    }
}

extension Person {
    /// The element for a malformed id.
    static func refused(_ user: String) -> Person { Person(unknown: user, problem: .invalidID(user)) }
}

extension PresenceError {
    static func invalidID(_ id: String) -> PresenceError {
        PresenceError(.invalidID, "not an id (1 to 128 bytes of printable ASCII without space): \(id.debugDescription)")
    }
}
