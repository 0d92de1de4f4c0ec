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
                withdraw(message.seq, in: record, of: member) { isDone in
                    if !isDone { failed = true }
                    next()
                }
            } done: {
                done(!failed)
            }
        }
    }

    private func withdraw(
        _ seq: Int64, in record: ConversationRecord, of member: ConversationRecord.Member,
        done: @escaping (Bool) -> Void
    ) {
        let (user, configuration) = (member.user, shard.configuration)
        let partition = shard.partitions.index(of: user)
        let keys = shard.partitions.keys(partition)
        let kept = configuration.isOn(Notifications.ofMessages) ? configuration[Notifications.keep] : 0
        run(
            .pushWithdraw, keys,
            [
                keys.shards, keys.floor, keys.pushed(user), keys.notifications(user), keys.notificationMarks(user),
                keys.push, keys.sessions(user),
            ],
            [
                user.string, record.id.string, String(seq), String(kept),
                String(configuration[Notifications.keepFor]), String(Self.wait),
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
