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

    /// Runs what somebody wants to do who puts others into a conversation; `done` gets `BLOCKED` if they block each other, or if
    /// the account of one of them is deleted: nobody learns which.
    func unless(
        between user: UserID, and others: [UserID], done: @escaping StoreReply, _ run: @escaping () -> Void
    ) {
        exist(between: user, and: others) { result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(true): done(.success(.array([.status("BLOCKED")])))
            case .success(false):
                let all = others + [user]
                withoutDeleted(all) { result in
                    switch result {
                    case .failure(let failure): done(.failure(failure))
                    case .success(let users) where users.count < all.count:
                        done(.success(.array([.status("BLOCKED")])))
                    case .success: run()
                    }
                }
            }
        }
    }

    /// Those of the users whose accounts are not deleted, in their order. Users without an account are among them.
    func withoutDeleted(_ users: [UserID], done: @escaping (Result<[UserID], RedisFailure>) -> Void) {
        guard !users.isEmpty else { return done(.success([])) }
        var isDeleted = users.map { _ in false }
        var waiting = users.count
        var failure: RedisFailure?
        for (place, user) in users.enumerated() {
            let record = shard.partitions.keys(of: user).user(user)
            shard.store.command(["HEXISTS", record, "deletedAt"], lane: .commands) { reply in
                switch reply {
                case .failure(let reason): failure = reason
                case .success(let value): isDeleted[place] = value.int == 1
                }
                waiting -= 1
                guard waiting == 0 else { return }
                if let failure { return done(.failure(failure)) }
                done(.success(zip(users, isDeleted).filter { !$1 }.map(\.0)))
            }
        }
    }
}
