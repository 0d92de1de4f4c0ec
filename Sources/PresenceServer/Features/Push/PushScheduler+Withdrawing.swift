import PresenceCore
import PresenceProtocol
import Redis

/// Deleted messages: their pushes do not count any more, and their notifications are archived.
extension PushScheduler {
    /// A notification was made of a message. If that was deleted before, the withdrawal may have come too early for it.
    ///
    /// - Returns: Whether it is withdrawn if it must be.
    func withdrawIfDeleted(_ seq: Int64, in id: ConversationID, of user: UserID) async -> Bool {
        do throws(RedisFailure) {
            if try await isDeleted(seq, in: id) { try await withdraw(seq, in: id, of: user) }
            return true
        } catch {
            return error.isLasting
        }
    }

    /// A user who was pushed to gets a push of the newest unread message instead, or of the next one. It may come twice: then there is
    /// no push of the message any more.
    func withdraw(_ seq: Int64, in id: ConversationID, of user: UserID) async throws(RedisFailure) {
        let (configuration, keys) = (shard.configuration, shard.partitions.keys(of: user))
        let call = ScriptCall(
            .pushWithdraw, in: keys,
            [
                "pushed": keys.pushed(user), "notifications": keys.notifications(user),
                "notificationMarks": keys.notificationMarks(user), "push": keys.push, "sessions": keys.sessions(user),
            ],
            [
                "user": user, "conversation": id, "seq": seq,
                "keep": configuration[Notifications.ofMessages] ? configuration[Notifications.keep] : 0,
                "keepFor": configuration[Notifications.keepFor], "wait": Self.wait,
                "id": Notifications.id(ofMessage: seq, in: id),
            ])
        schedule(user, after: try await run(call, of: user)?[0].int)
    }
}
