import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Who has blocked whom in a `TalkHistory`, and what that forbids.
extension TalkHistory {
    /// Whether somebody may be told that they are not to do something in a conversation.
    func mayForbid(_ name: String, _ talk: String) -> Bool {
        // Nobody is put in by somebody with whom there is a block.
        talk == group ? everOut.contains(name) || wasBlocked && everOut.contains("ana") : wasBlocked
    }

    func block(_ person: TalkPerson) {
        // Nobody is put into a new conversation by somebody with whom there is a block.
        guard talks.count == 2, !people.contains(where: \.isCreating), person === people[0] || person === people[1]
        else { return }
        wasBlocked = true
        let isBlocked = draw(0...1) == 0
        if !isBlocked { blockedSince[person.name] = nil }
        person.block(person.name == "ana" ? "bob" : "ana", isBlocked)
    }

    func noteBlock(_ isBlocked: Bool, by name: String, after times: Int) {
        if times > 1 { isBlockUncertain = true }
        guard isBlocked, !people.contains(where: { $0.name == name && $0.unblocks }) else { return }
        blocks += 1
        if blockedSince[name] == nil { blockedSince[name] = world.now }
    }

    /// What was asked for after a block was acknowledged is forbidden.
    func noteSent(in talk: String, by name: String, askedAt: Milliseconds) {
        guard talk != group, !isBlockUncertain else { return }
        for (user, since) in blockedSince where askedAt > since {
            fail("\(name) has sent something at \(askedAt), and \(user) had blocked at \(since)")
        }
    }
}
