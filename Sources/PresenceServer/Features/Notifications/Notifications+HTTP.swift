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
        let new = try NotificationRequest.new(call.body, limit: Int(shard.configuration[Self.recipients]))
        var damaged = 0
        call.ask { [self] done in
            underWay += 1
            store(new, damaged: { damaged += 1 }) { [self] result in
                underWay -= 1
                done(result)
            }
        } answered: { _ in
            guard damaged == 0 || damaged < new.users.count else { return call.respond(.error(500, .damagedRecord())) }
            call.respond(.json(202, #"{"accepted":\#(new.users.count - damaged)}"#))
        }
    }

    /// - Parameters:
    ///   - damaged: Called for each user whose record cannot be read: `presenced doctor` reports it, and nobody else waits.
    ///   - done: Gets `OK`, or the first thing that went wrong.
    private func store(_ new: NotificationRequest.New, damaged: @escaping () -> Void, done: @escaping StoreReply) {
        let partitions = Dictionary(grouping: new.users) { shard.partitions.index(of: $0) }
        let batches = partitions.sorted { $0.key < $1.key }.flatMap { partition in
            stride(from: 0, to: partition.value.count, by: Self.batch).map {
                Array(partition.value[$0..<min($0 + Self.batch, partition.value.count)])
            }
        }
        let json = String(decoding: new.json, as: UTF8.self)
        var wrong: Result<RedisValue, RedisFailure>?
        BoundedConcurrency(batches, window: Self.window) { [self] users, next in
            guard wrong == nil else { return next() }
            store(new, json, for: users, damaged: damaged) { result in
                if result.words?.first?.string != "OK" { wrong = wrong ?? result }
                next()
            }
        } done: {
            done(wrong ?? .success(.array([.status("OK")])))
        }
    }

    func store(
        _ new: NotificationRequest.New, _ json: String, for users: [UserID], damaged: @escaping () -> Void,
        done: @escaping StoreReply
    ) {
        let keys = shard.partitions.keys(of: users[0])
        let settings = shard.configuration
        shard.store.run(
            .notify,
            keys: [keys.shards, keys.floor] + users.flatMap { [keys.notifications($0), keys.notificationMarks($0)] },
            arguments: [
                keys.events, shard.link.incarnation, String(settings[Self.keep]), String(settings[Self.keepFor]),
                new.id!.string, new.collapse?.string ?? "", json,
            ] + users.map(\.string), lane: .commands
        ) { [self] result in
            switch result {
            case .failure(let failure) where failure.isLasting && users.count > 1:
                // One of them is damaged; the others get it.
                var wrong: Result<RedisValue, RedisFailure>?
                BoundedConcurrency(users, window: 1) { [self] user, next in
                    store(new, json, for: [user], damaged: damaged) { result in
                        if result.words?.first?.string != "OK" { wrong = wrong ?? result }
                        next()
                    }
                } done: {
                    done(wrong ?? .success(.array([.status("OK")])))
                }
            case .failure(let failure) where failure.isLasting:
                shard.noteDamage("notifications", of: users[0])
                damaged()
                done(.success(.array([.status("OK")])))
            default:
                note(result.words ?? [], of: users.count)
                done(result)
            }
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

extension Result where Success == RedisValue {
    fileprivate var words: [RedisValue]? { (try? get())?.array }
}
