import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// What backends tell users.
///
/// A request for many users is many scripts, one for some users of a partition. If one of them fails, the request is answered
/// 503 and repeated by its sender: who has the notification gets nothing by it. An intent would carry it out after a crash
/// too, but a sender without an answer has to repeat it anyway, and all that is sent would be written twice.
extension Notifications {
    /// Users of one script, which holds up Redis for up to 0.3 ms for each (with 200 notifications; 0.1 ms with 50).
    private static let batch = 8
    /// Scripts of one request that are under way.
    private static let window = 8

    func registerRoutes(in registry: inout Registry) {
        // 1,000 ids at their longest, each byte escaped, and one notification come to a quarter of what any body may have.
        registry.route("POST", "/v1/notifications") { [unowned self] (call) throws(DecodingFailure) in
            try notify(call)
        }
    }

    private func notify(_ call: HTTPCall) throws(DecodingFailure) {
        // Before the body is looked at.
        guard underWay < shard.configuration[Self.calls] else {
            refused.value += 1
            return call.refuse(
                503,
                .init(code: .unavailable, message: "too many notifications are under way: try again", retryAfter: 1_000)
            )
        }
        let new = try NotificationRequest.new(call.body, limit: Self.recipients)
        let progress = Progress()
        call.ask { [self] done in
            underWay += 1
            store(new, progress) { [self] in
                underWay -= 1
                done(progress.result)
            }
        } answered: { _ in
            let (count, damaged) = (new.users.count, progress.damaged)
            guard damaged == 0 || damaged < count else { return call.respond(.error(500, .damagedRecord())) }
            call.respond(.json(202, #"{"accepted":\#(count - damaged)}"#))
        }
    }

    /// What a request has come to, over all of its scripts.
    final class Progress {
        /// Users whose records cannot be read: `presenced doctor` reports them, and nobody else waits.
        fileprivate(set) var damaged = 0
        /// Whether some have the notification, or may have it.
        private var hasBegun = false
        /// The first thing that went wrong.
        private var failure: RedisFailure?

        fileprivate func note(_ failure: RedisFailure) {
            switch failure {
            case .disconnected(sent: true), .timedOut(sent: true): hasBegun = true
            default: break
            }
            self.failure = self.failure ?? failure
        }
        fileprivate func begin() { hasBegun = true }
        fileprivate var hasFailed: Bool { failure != nil }

        /// `OK`, or what went wrong. If some have it, it is not known who: not that nobody has.
        var result: Result<RedisValue, RedisFailure> {
            guard let failure else { return .success(.array([.status("OK")])) }
            return .failure(hasBegun && !failure.isLasting ? .disconnected(sent: true) : failure)
        }
    }

    private func store(_ new: NotificationRequest.New, _ progress: Progress, done: @escaping () -> Void) {
        let partitions = Dictionary(grouping: new.users) { shard.partitions.index(of: $0) }
        let batches = partitions.sorted { $0.key < $1.key }.flatMap { partition in
            stride(from: 0, to: partition.value.count, by: Self.batch).map {
                Array(partition.value[$0..<min($0 + Self.batch, partition.value.count)])
            }
        }
        let json = String(decoding: new.json, as: UTF8.self)
        BoundedConcurrency(batches, window: Self.window) { [self] users, next in
            if progress.hasFailed { next() } else { store(new, json, for: users, progress, done: next) }
        } done: {
            done()
        }
    }

    /// - Parameter told: When it was told (ms since 1970) if the same may be told anew; `nil` of backends'.
    func store(
        _ new: NotificationRequest.New, _ json: String, for users: [UserID], told: Timestamp? = nil,
        _ progress: Progress, done: @escaping () -> Void
    ) {
        let keys = shard.partitions.keys(of: users[0])
        let settings = shard.configuration
        shard.store.run(
            .notify,
            keys: [keys.shards, keys.floor] + users.flatMap { [keys.notifications($0), keys.notificationMarks($0)] },
            arguments: [
                keys.events, shard.link.incarnation, String(settings[Self.keep]), String(settings[Self.keepFor]),
                new.id!.string, new.collapse?.string ?? "", json, told.map { "\($0)" } ?? "",
            ] + users.map(\.string), lane: .commands
        ) { [self] result in
            switch result {
            case .failure(let failure) where failure.isLasting && users.count > 1:
                // One of them is damaged; the others get it, or have it by now.
                progress.begin()
                BoundedConcurrency(users, window: 1) { [self] user, next in
                    store(new, json, for: [user], told: told, progress, done: next)
                } done: {
                    done()
                }
                return
            case .failure(let failure) where failure.isLasting:
                shard.noteDamage("notifications", of: users[0])
                progress.damaged += 1
            case .failure(let failure):
                progress.note(failure)
            case .success where shard.link.noticeFencing(in: result):
                progress.note(.disconnected(sent: false))
            case .success(let value):
                progress.begin()
                note(value.array ?? [], of: users.count)
            }
            done()
        }
    }

    /// `OK, now, USER, seq, …` of those who did not have it.
    private func note(_ words: [RedisValue], of count: Int) {
        guard words.first?.string == "OK", words.count >= 2 else { return }
        let new = (words.count - 2) / 2
        stored.value += new
        repeated.value += count - new
    }
}
