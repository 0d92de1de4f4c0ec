import PresenceCore
import PresenceProtocol
import Redis

/// The users from whom a user's deliveries are hidden. A delivery shows that a device is online, so it is visible to
/// those who may see the user's presence.
struct DeliveryAudience {
    unowned let shard: ShardLogic
    /// A mark that is hidden from more users is hidden from all, because the record contains each name, and each change
    /// sends the whole record.
    private static let mostNamed = 20

    /// None of the other members, all, or the named ones, as `mark.lua` takes them.
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

    /// The members of a conversation from whom it is hidden, by the present state in Redis.
    func hidden(of user: UserID, in id: ConversationID) async throws(RedisFailure) -> Hidden {
        let keys = shard.partitions.keys(of: user)
        let held =
            try await shard.command(["HMGET", keys.user(user), "chosen", "visibility"]).array?.map(\.string) ?? []
        guard held.first != "invisible" else { return .fromAll }
        guard held.count == 2, let text = held[1] else { return .fromNobody }
        // If the setting cannot be read, it is hidden from all.
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
