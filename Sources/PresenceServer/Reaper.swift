import PresenceProtocol
import Redis

/// Ends what a dead incarnation left: in every partition it loses the right to write, then its sessions.
///
/// All of it can be repeated or done by two at once: scripts take out only what is still the dead one's. The lease's
/// mark goes last, so a reaper that dies on the way is followed by another.
final class Reaper {
    private unowned let shard: ShardLogic
    private var underWay: Set<String> = []

    /// Users whose sessions one script call ends: some tens of microseconds of Redis' time.
    private static let batch = 50
    /// Partitions that are worked on at a time.
    private static let window = 16

    init(_ shard: ShardLogic) { self.shard = shard }

    /// `renewedAt`: when the dead one was last known to be alive, by Redis' clock: its users' `lastSeen`.
    func reap(_ incarnation: String, renewedAt: Timestamp, done: @escaping () -> Void = {}) {
        guard underWay.insert(incarnation).inserted else { return done() }
        var failed = false
        let started = shard.clock.now
        var users = 0
        Paced(Array(0..<shard.partitions.count), window: Self.window) { [self] partition, next in
            clear(partition, of: incarnation, renewedAt: renewedAt) { count in
                if let count { users += count } else { failed = true }
                next()
            }
        } done: { [self] in
            underWay.remove(incarnation)
            if !failed {
                shard.store.command(["HDEL", shard.partitions.space.leases, incarnation], lane: .commands) { _ in }
            }
            shard.metrics.reaped += users
            shard.log(
                failed ? "reaping abandoned" : "reaped",
                ["incarnation": incarnation, "users": "\(users)", "ms": "\(shard.clock.now - started)"])
            done()
        }
    }

    /// Fences the partition and ends sessions until none is left; `nil` when Redis did not answer.
    private func clear(_ partition: Int, of incarnation: String, renewedAt: Timestamp, done: @escaping (Int?) -> Void) {
        let keys = shard.partitions.keys(partition)
        let usersKey = keys.users(ofShard: incarnation)
        shard.store.run(
            .fence, keys: [keys.shards, usersKey, keys.fenced(incarnation)],
            arguments: [incarnation, String(Self.batch)], lane: .commands
        ) { [self] result in
            guard case .success(let value) = result, let names = value.array?.compactMap(\.string) else {
                return done(nil)
            }
            guard !names.isEmpty else { return done(0) }
            let users = names.compactMap { UserID($0) }
            shard.store.run(
                .reap, keys: [keys.floor, usersKey] + users.flatMap { [keys.user($0), keys.sessions($0)] },
                arguments: [keys.events, incarnation, String(renewedAt)] + names, lane: .commands
            ) { [self] result in
                guard case .success = result else { return done(nil) }
                clear(partition, of: incarnation, renewedAt: renewedAt) { rest in
                    done(rest.map { $0 + users.count })
                }
            }
        }
    }
}
