import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The members and the owner of a `TalkHistory`'s group.
extension TalkHistory {
    /// Cy leaves, or the owner removes him; ana, who created the group, passes it to another owner. Members add them
    /// again. Bob stays.
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

    /// A backend sets all users as members. An unanswered request is not repeated.
    func putAllIn() {
        let shard = world.shards.first { $0.isRunning && $0.logic.link.isLive }
        guard let shard, !group.isEmpty else { return }
        calls.append(
            SimulatedCall(
                "PUT", "/v1/conversations/\(group)/participants", ["participants": ["ana", "dee", "bob", "cy"]],
                token: "!backend", to: shard))
    }

    /// Tracks members who left and returned.
    func recordMembers(_ changes: [String]) {
        for change in changes {
            let user = String(change.dropFirst())
            if change.hasPrefix("-") {
                guard members.contains(user) else { continue }
                memberChanges += 1
                out.insert(user)
                members.removeAll { $0 == user }
                recordLeaving(user)
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

    func recordName(_ name: String, after times: Int) {
        isNameUncertain = isNameUncertain || times > 1
        groupName = isNameUncertain ? nil : name
    }
}
