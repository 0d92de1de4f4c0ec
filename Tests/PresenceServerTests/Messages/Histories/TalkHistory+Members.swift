import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Who is in the group of a `TalkHistory`, and whose it is.
extension TalkHistory {
    /// Cy leaves, or is taken out by the owner; ana, who made the group, leaves it to another owner. They are put in again by who is
    /// in it. Bob stays.
    func changeMembers(_ person: TalkPerson) {
        guard person.isIn(group) else { return }
        if let user = out.subtracting(["dee"]).sorted().first(where: { $0 != person.name }) {
            return person.change(group, "add", user)
        }
        let user = person.name == "ana" && draw(0...2) == 0 ? "ana" : "cy"
        guard user == person.name || owner == person.name else { return }
        everOut.insert(user)
        person.change(group, "remove", user)
    }

    /// A backend says who is in the group: all. Nobody asks again if it is not answered.
    func putAllIn() {
        let shard = world.shards.first { $0.isRunning && $0.logic.link.isLive }
        guard let shard, !group.isEmpty else { return }
        calls.append(
            SimulatedCall(
                "PUT", "/v1/conversations/\(group)/participants", ["participants": ["ana", "dee", "bob", "cy"]],
                token: "!backend", to: shard))
    }

    /// Who has gone and come back.
    func note(_ changes: [String]) {
        for change in changes {
            let user = String(change.dropFirst())
            if change.hasPrefix("-") {
                guard members.contains(user) else { continue }
                memberChanges += 1
                out.insert(user)
                members.removeAll { $0 == user }
                noteLeaving(user)
                if owner == user, let next = members.first { (owner, successions) = (next, successions + 1) }
            } else if out.remove(user) != nil {
                memberChanges += 1
                members.append(user)
                returns += 1
                let id = ConversationID(group)!
                let last = try? redis.ask(["HGET", partitions.keys(of: id).conversation(id), "last"]).get().string
                joinedAt[user] = last.flatMap { Int64($0) } ?? 0
            }
        }
    }

    func noteName(_ name: String, after times: Int) {
        isNameUncertain = isNameUncertain || times > 1
        groupName = isNameUncertain ? nil : name
    }
}
