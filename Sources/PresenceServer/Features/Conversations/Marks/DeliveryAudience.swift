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

    /// - Parameter found: From whom of a conversation it is hidden, as Redis has it now.
    func hidden(of user: UserID, in id: ConversationID, found: @escaping (Result<Hidden, RedisFailure>) -> Void) {
        let keys = shard.partitions.keys(of: user)
        shard.store.command(["HMGET", keys.user(user), "chosen", "visibility"], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return found(.failure(result.failure!)) }
            let words = value.array?.map(\.string) ?? []
            guard words.first != "invisible" else { return found(.success(.fromAll)) }
            guard words.count == 2, let text = words[1] else { return found(.success(.fromNobody)) }
            // What the user allowed is not known, if it cannot be read.
            guard let head = PolicyHead(text), !head.isDamaged, head.visibility.presence != .nobody else {
                return found(.success(.fromAll))
            }
            if head.visibility.presence == .everyone, head.blocks == 0 { return found(.success(.fromNobody)) }
            compare(user, head, in: id, found: found)
        }
    }

    private func compare(
        _ user: UserID, _ head: PolicyHead, in id: ConversationID,
        found: @escaping (Result<Hidden, RedisFailure>) -> Void
    ) {
        ConversationReading(shard: shard).read(id) { [self] result in
            guard case .success(let record) = result else { return found(.failure(result.failure!)) }
            let others = (record?.members ?? []).map(\.user).filter { $0 != user }
            guard !others.isEmpty else { return found(.success(.fromNobody)) }
            let (keys, names) = (shard.partitions.keys(of: user), others.map(\.string))
            shard.store.command(["SMISMEMBER", keys.blocks(user)] + names, lane: .commands) { [self] result in
                guard case .success(let blocked) = result else { return found(.failure(result.failure!)) }
                shard.store.command(["SMISMEMBER", keys.contacts(user)] + names, lane: .commands) { result in
                    found(
                        result.map { known in
                            let isForContacts = head.visibility.presence == .contacts
                            let pairs = zip(blocked.array ?? [], known.array ?? [])
                            let hidden = zip(others, pairs).filter { _, answer in
                                answer.0.int != 0 || isForContacts && answer.1.int != 1
                            }
                            if hidden.count > Self.mostNamed { return .fromAll }
                            return hidden.isEmpty ? .fromNobody : .from(hidden.map(\.0))
                        })
                }
            }
        }
    }
}
