import PresenceCore
import PresenceProtocol
import Redis

/// Asks Redis who blocks whom, at the moment when it matters: a block that was acknowledged holds for what is asked after it.
struct Blocks {
    unowned let shard: ShardLogic

    /// Whether a user and any of the others block each other, one way or the other.
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

    /// Refuses somebody who puts others into a conversation if they block each other, or if the account of one of them is
    /// deleted: nobody learns which.
    func check(_ user: UserID, and others: [UserID]) async throws(Refusal) {
        let result: Result<Bool, RedisFailure> = await shard.tasks.wait { exist(between: user, and: others, found: $0) }
        let all = others + [user]
        guard try !result.answered(), try await withoutDeleted(all).count == all.count else {
            throw ConversationRefusal.blocked.refusal
        }
    }

    /// Those of the users whose accounts are not deleted, in their order. Users without an account are among them.
    func withoutDeleted(_ users: [UserID]) async throws(Refusal) -> [UserID] {
        var deleted: Set<UserID> = []
        var refusal: Refusal?
        await shard.tasks.each(users, window: 64) { user in
            do throws(Refusal) {
                let record = shard.partitions.keys(of: user).user(user)
                // Part of a change: a failure is that of the change, whose outcome is unknown.
                if try await shard.ask("HEXISTS", record, "deletedAt", changes: true).int == 1 { deleted.insert(user) }
            } catch {
                refusal = error
            }
        }
        if let refusal { throw refusal }
        return users.filter { !deleted.contains($0) }
    }
}
