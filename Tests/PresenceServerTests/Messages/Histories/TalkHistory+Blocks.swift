import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Blocks between users of a `TalkHistory`, and their effects.
extension TalkHistory {
    /// Whether a user may get `forbidden` in a conversation.
    func mayForbid(_ name: String, _ talk: String) -> Bool {
        // Users with a block between them cannot add each other.
        talk == group ? everOut.contains(name) || wasBlocked && everOut.contains("ana") : wasBlocked
    }

    func block(_ person: TalkPerson) {
        // Users with a block between them cannot add each other to a new conversation.
        guard talks.count == 2, !people.contains(where: \.isCreating), person === people[0] || person === people[1]
        else { return }
        wasBlocked = true
        let isBlocked = draw(0...1) == 0
        if !isBlocked { blockedSince[person.name] = nil }
        person.block(person.name == "ana" ? "bob" : "ana", isBlocked)
    }

    func recordBlock(_ isBlocked: Bool, by name: String, after times: Int) {
        if times > 1 { isBlockUncertain = true }
        guard isBlocked, !people.contains(where: { $0.name == name && $0.unblocks }) else { return }
        blocks += 1
        if blockedSince[name] == nil { blockedSince[name] = world.now }
    }

    /// Requests made after a block was acknowledged must fail.
    func recordSent(in talk: String, by name: String, askedAt: Milliseconds) {
        guard talk != group, !isBlockUncertain else { return }
        for (user, since) in blockedSince where askedAt > since {
            fail("\(name) has sent something at \(askedAt), and \(user) had blocked at \(since)")
        }
    }
}
