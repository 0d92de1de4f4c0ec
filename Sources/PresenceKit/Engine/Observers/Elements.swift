import Foundation
import PresenceProtocol

// What the app gets to see of what is held: `link` says how fresh that is.

extension HeldPerson {
    func presence(of user: UserID, on link: Link) -> PersonPresence? {
        guard presence != nil || watch.refusal != nil else { return nil }
        return PersonPresence(
            user: user.string, presence ?? .unknown, freshness: freshness(on: link), arrival: presenceArrival)
    }

    func profile(of user: UserID, on link: Link) -> PersonProfile? {
        guard profile != nil || watch.refusal != nil else { return nil }
        return PersonProfile(
            user: user.string, profile ?? .none, freshness: freshness(on: link), arrival: profileArrival)
    }

    func person(_ user: UserID, on link: Link) -> Person? {
        guard let presence = presence(of: user, on: link), let profile = profile(of: user, on: link) else {
            return nil
        }
        return Person(presence: presence, profile: profile)
    }

    private func freshness(on link: Link) -> Freshness {
        link.freshness(isConfirmed: isConfirmed, staleSince: staleSince, refusal: watch.refusal)
    }
}

extension HeldConversation {
    /// Without the own user.
    func typing(in id: ConversationID, without me: UserID?, on link: Link) -> Typing? {
        guard isKnown || watch.refusal != nil else { return nil }
        return Typing(
            conversation: id.string, users: users.filter { $0 != me }.map(\.string), more: more,
            freshness: link.freshness(isConfirmed: isConfirmed, staleSince: staleSince, refusal: watch.refusal),
            arrival: arrival)
    }
}

extension Person {
    /// The element for a malformed id.
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
