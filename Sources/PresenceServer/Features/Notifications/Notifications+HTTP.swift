import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Notifications that backends send.
///
/// A request for many users runs many scripts, each for some users of a partition. If one of them fails, the request is
/// answered 503, and its sender repeats it: users who have the notification get nothing from the repetition. An intent would
/// also survive a crash, but a sender without an answer must repeat the request anyway, and an intent would write everything
/// twice.
extension Notifications {
    /// The most users in one script, which takes Redis up to 0.3 ms for each user (with 200 notifications; 0.1 ms with
    /// 50).
    private static let batch = 8
    /// The most scripts of one request that run at a time.
    private static let window = 8

    func registerRoutes(in registry: inout Registry) {
        // 1,000 ids at their longest, with each byte escaped, and one notification are a quarter of the longest body.
        registry.route(
            "POST", "/v1/notifications", scope: .notificationsWrite,
            answer: { [unowned self] (call) async throws(Refusal) in try await notify(call) })
    }

    private func notify(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        // Checked before the body is read.
        guard underWay < shard.configuration[Self.calls] else {
            refused.value += 1
            throw Refusal(.unavailable, "too many notifications are under way: try again", retryAfter: 1_000)
        }
        let new = try call.decoded { (_) throws(DecodingFailure) in
            try NotificationRequest.new(call.body, limit: Self.recipients)
        }
        try shard.admitWrites()
        underWay += 1
        defer { underWay -= 1 }
        let progress = Progress()
        await shard.tasks.each(batches(of: new.users), window: Self.window) { [self] users in
            if progress.failure == nil { await store(new, for: users, progress) }
        }
        if let failure = progress.result { throw Refusal(failure, changes: true) }
        let accepted = new.users.count - progress.damaged
        guard accepted > 0 || progress.damaged == 0 else { return .error(500, .damagedRecord()) }
        return .json(202, #"{"accepted":\#(accepted)}"#)
    }

    private func batches(of users: [UserID]) -> [[UserID]] {
        let partitions = Dictionary(grouping: users) { shard.partitions.index(of: $0) }
        return partitions.sorted { $0.key < $1.key }.flatMap { _, users in
            stride(from: 0, to: users.count, by: Self.batch).map {
                Array(users[$0..<min($0 + Self.batch, users.count)])
            }
        }
    }

    /// The state of a request over all of its scripts.
    final class Progress {
        /// Users whose records cannot be read: `presenced doctor` reports them, and the other users get the notification.
        fileprivate(set) var damaged = 0
        /// Whether some users have the notification, or may have it.
        private var hasBegun = false
        /// The first failure.
        private(set) var failure: RedisFailure?

        fileprivate func record(_ failure: RedisFailure) {
            switch failure {
            case .disconnected(sent: true), .timedOut(sent: true): hasBegun = true
            default: break
            }
            self.failure = self.failure ?? failure
        }
        fileprivate func begin() { hasBegun = true }

        /// The failure as the sender must see it: if some users have the notification, the outcome is unknown.
        var result: RedisFailure? {
            hasBegun && failure?.isLasting == false ? .disconnected(sent: true) : failure
        }
    }

    /// Stores a notification for users of one partition.
    ///
    /// - Parameter pushedAt: When the notification's message was pushed (ms since 1970), since the same message may be pushed
    ///   again; `nil` for backends' notifications.
    func store(
        _ new: NotificationRequest.New, for users: [UserID], pushedAt: Timestamp? = nil, _ progress: Progress
    ) async {
        do throws(RedisFailure) {
            let reply = try await shard.reply(to: storing(new, for: users, pushedAt: pushedAt))
            progress.begin()
            // Id and seq of each user who did not have the notification yet.
            let count = (reply.count - 1) / 2
            stored.value += count
            repeated.value += users.count - count
        } catch {
            guard error.isLasting else { return progress.record(error) }
            guard users.count > 1 else {
                shard.recordDamage("notifications", of: users[0])
                progress.damaged += 1
                return
            }
            // One of the records is damaged; the other users get the notification, or have it by now.
            progress.begin()
            for user in users { await store(new, for: [user], pushedAt: pushedAt, progress) }
        }
    }

    private func storing(_ new: NotificationRequest.New, for users: [UserID], pushedAt: Timestamp?) -> ScriptCall {
        let keys = shard.partitions.keys(of: users[0])
        let isPushed = pushedAt == nil && shard.feature(Push.self)?.hasReceivers == true
        return ScriptCall(
            .notify, in: keys, ["push": keys.push],
            [
                "keep": shard.configuration[Self.keep], "keepFor": shard.configuration[Self.keepFor],
                "id": new.id, "collapse": new.collapse, "json": new.json, "told": pushedAt,
                "wait": isPushed ? new.waitForPush : nil, "kind": JSONWriter.encoded(new.kind!.string),
            ], each: users,
            eachKey: users.flatMap {
                [keys.notifications($0), keys.notificationMarks($0), keys.sessions($0), keys.user($0)]
            })
    }
}
