import PresenceCore
import PresenceProtocol
import Redis

/// Deleted messages: their pushes do not count any more, and their notifications are archived.
extension DuePushes {
    /// A user who was pushed to gets a push of the newest unread message instead, or of the next one. It may come twice: then there is
    /// no push of the message any more.
    func withdraw(_ message: StoredMessage, in id: ConversationID) async throws(RedisFailure) {
        guard let record = try await read(id) else { return }
        let others = record.members.filter { $0.user.string != message.from }
        try await each(others) { [self] (member) async throws(RedisFailure) in
            try await withdraw(message.seq, in: record, of: member.user)
        }
    }

    /// A notification was made of a message. If that was deleted before, the withdrawal may have come too early for it.
    ///
    /// - Returns: Whether it is withdrawn if it must be.
    func withdrawIfDeleted(_ seq: Int64, in id: ConversationID, of user: UserID) async -> Bool {
        do throws(RedisFailure) {
            guard try await isDeleted(seq, in: id), let record = try await read(id) else { return true }
            try await withdraw(seq, in: record, of: user)
            return true
        } catch {
            return error.isLasting
        }
    }

    func withdraw(_ seq: Int64, in record: ConversationRecord, of user: UserID) async throws(RedisFailure) {
        let configuration = shard.configuration
        let partition = shard.partitions.index(of: user)
        let keys = shard.partitions.keys(partition)
        let call = ScriptCall(
            .pushWithdraw, in: keys,
            [
                "pushed": keys.pushed(user), "notifications": keys.notifications(user),
                "notificationMarks": keys.notificationMarks(user), "push": keys.push, "sessions": keys.sessions(user),
            ],
            [
                "user": user, "conversation": record.id, "seq": seq,
                "keep": configuration[Notifications.ofMessages] ? configuration[Notifications.keep] : 0,
                "keepFor": configuration[Notifications.keepFor], "wait": Self.wait,
                "id": Notifications.id(ofMessage: seq, in: record.id), "newest": record.last,
            ])
        do throws(RedisFailure) {
            let reply = try await shard.reply(to: call)
            if let wait = reply[0].int { schedule(partition, after: wait + 5) }
        } catch {
            // It must not keep the others of its partition from their pushes.
            guard error.isLasting else { throw complaint(of: partition, error) }
            shard.recordDamage("push", of: user)
        }
    }
}
