import PresenceCore
import PresenceProtocol
import Redis

/// Who may not know what comes to a user's devices: that says when they are there, so it is for those who may see their presence.
struct DeliveryAudience {
    unowned let shard: ShardLogic
    /// A mark that is hidden from more is hidden from all: each name is in the record, which each change tells whole.
    private static let mostNamed = 20

    /// Nobody, all, or the others who are named, as `mark.lua` has it.
    enum Hidden {
        case fromNobody
        case fromAll
        case from([UserID])

        var argument: String {
            switch self {
            case .fromNobody: "n"
            case .fromAll: "a"
            case .from(let users): (["s"] + users.map(\.string)).joined(separator: " ")
            }
        }
    }

    /// From whom of a conversation it is hidden, as Redis has it now.
    func hidden(of user: UserID, in id: ConversationID) async throws(RedisFailure) -> Hidden {
        let keys = shard.partitions.keys(of: user)
        let held =
            try await shard.command(["HMGET", keys.user(user), "chosen", "visibility"]).array?.map(\.string) ?? []
        guard held.first != "invisible" else { return .fromAll }
        guard held.count == 2, let text = held[1] else { return .fromNobody }
        // What the user allowed is not known, if it cannot be read.
        guard let head = PolicyHead(text), !head.isDamaged, head.visibility.presence != .nobody else { return .fromAll }
        let isForContacts = head.visibility.presence == .contacts
        if !isForContacts, head.blocks == 0 { return .fromNobody }
        let key = shard.partitions.keys(of: id).conversation(id)
        let record = ConversationRecord(id, try await shard.command(["HGETALL", key]))
        let others = (record?.members ?? []).map(\.user).filter { $0 != user }
        guard !others.isEmpty else { return .fromNobody }
        let names = others.map(\.string)
        let blocked = try await shard.command(["SMISMEMBER", keys.blocks(user)] + names).array ?? []
        let known = try await shard.command(["SMISMEMBER", keys.contacts(user)] + names).array ?? []
        let hidden = zip(others, zip(blocked, known)).filter { _, answer in
            answer.0.int != 0 || isForContacts && answer.1.int != 1
        }
        if hidden.count > Self.mostNamed { return .fromAll }
        return hidden.isEmpty ? .fromNobody : .from(hidden.map(\.0))
    }
}
