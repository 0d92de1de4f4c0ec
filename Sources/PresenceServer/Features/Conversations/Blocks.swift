import PresenceCore
import PresenceProtocol
import Redis

/// Asks Redis for blocks at the moment when they matter: an acknowledged block applies to every later request.
struct Blocks {
    unowned let shard: ShardLogic

    /// Whether the user blocks any of the others, or is blocked by one.
    func exist(between user: UserID, and others: [UserID], found: @escaping (Result<Bool, RedisFailure>) -> Void) {
        guard !others.isEmpty else { return found(.success(false)) }
        var waiting = others.count + 1
        var result = Result<Bool, RedisFailure>.success(false)
        func finish(_ reply: Result<RedisValue, RedisFailure>) {
            switch reply {
            case .failure(let failure): result = .failure(failure)
            case .success(let value):
                let isBlocked = (value.array ?? [value]).contains { $0.int == 1 }
                if isBlocked, case .success = result { result = .success(true) }
            }
            waiting -= 1
            if waiting == 0 { found(result) }
        }
        let keys = shard.partitions.keys(of: user)
        let command = ["SMISMEMBER", keys.blocks(user)] + others.map(\.string)
        shard.store.command(command, lane: .commands, reply: finish)
        for other in others {
            let blocks = shard.partitions.keys(of: other).blocks(other)
            shard.store.command(["SISMEMBER", blocks, user.string], lane: .commands, reply: finish)
        }
    }

    /// Refuses to let a user add others to a conversation if the user and one of them block each other, in either
    /// direction, or if one of the accounts is deleted. The refusal does not show which.
    func check(_ user: UserID, and others: [UserID]) async throws(Refusal) {
        let result: Result<Bool, RedisFailure> = await shard.tasks.wait { exist(between: user, and: others, found: $0) }
        let all = others + [user]
        guard try !result.answered(), try await withoutDeleted(all).count == all.count else {
            throw ConversationRefusal.blocked.refusal
        }
    }

    /// The users whose accounts are not deleted, in their order. Users without an account are included.
    func withoutDeleted(_ users: [UserID]) async throws(Refusal) -> [UserID] {
        var deleted: Set<UserID> = []
        try await shard.tasks.each(users, window: 64) { (user) throws(Refusal) in
            let record = shard.partitions.keys(of: user).user(user)
            // This read is part of a change, so a failed read is reported as a failed change with an unknown outcome.
            if try await shard.run("HEXISTS", record, "deletedAt", changes: true).int == 1 { deleted.insert(user) }
        }
        return users.filter { !deleted.contains($0) }
    }
}
