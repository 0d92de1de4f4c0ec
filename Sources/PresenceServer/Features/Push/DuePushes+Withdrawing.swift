import PresenceCore
import PresenceProtocol
import Redis

/// What becomes of pushes that were told when their message is deleted.
extension DuePushes {
    /// Who was pushed for it is told of the newest that they have not read instead, or of the next one that comes.
    ///
    /// - Parameter done: Gets whether all of it is noted. It may come twice: then nobody was pushed for it any more.
    func withdraw(_ message: StoredMessage, in id: ConversationID, done: @escaping (Bool) -> Void) {
        read(id) { [self] result in
            guard case .success(let record?) = result else {
                return done(result.failure.map(\.isLasting) ?? true)
            }
            var failed = false
            let others = record.members.filter { $0.user.string != message.from }
            BoundedConcurrency(others, window: Self.window) { [self] member, next in
                withdraw(message.seq, in: record, of: member.user) { isDone in
                    if !isDone { failed = true }
                    next()
                }
            } done: {
                done(!failed)
            }
        }
    }

    /// A notification was made of a message. If that was deleted before, the withdrawal may have come too early for it.
    func withdrawIfDeleted(_ seq: Int64, in id: ConversationID, of user: UserID, done: @escaping (Bool) -> Void) {
        isDeleted(seq, in: id) { [self] result in
            switch result {
            case .success(true):
                read(id) { [self] result in
                    guard case .success(let record?) = result else {
                        return done(result.failure.map(\.isLasting) ?? true)
                    }
                    withdraw(seq, in: record, of: user, done: done)
                }
            case .success(false): done(true)
            case .failure(let failure):
                if failure.isLasting { shard.noteDamage("conversation", of: id) }
                done(failure.isLasting)
            }
        }
    }

    func withdraw(
        _ seq: Int64, in record: ConversationRecord, of user: UserID, done: @escaping (Bool) -> Void
    ) {
        let configuration = shard.configuration
        let partition = shard.partitions.index(of: user)
        let keys = shard.partitions.keys(partition)
        let kept = configuration[Notifications.ofMessages] ? configuration[Notifications.keep] : 0
        run(
            .pushWithdraw, keys,
            [
                keys.shards, keys.floor, keys.pushed(user), keys.notifications(user), keys.notificationMarks(user),
                keys.push, keys.sessions(user),
            ],
            [
                user.string, record.id.string, String(seq), String(kept),
                String(configuration[Notifications.keepFor]), String(Self.wait),
                Notifications.id(ofMessage: seq, in: record.id).string, String(record.last),
            ]
        ) { [self] result in
            switch result {
            case .success(let words):
                if words.count > 1, let wait = words[1].int { look(at: partition, after: wait + 5) }
                done(true)
            // It must not keep the others of its partition from being told.
            case .failure(let failure):
                if failure.isLasting { shard.noteDamage("push", of: user) }
                done(failure.isLasting)
            }
        }
    }
}
