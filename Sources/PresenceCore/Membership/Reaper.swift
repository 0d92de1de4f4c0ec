import PresenceProtocol
import Redis

/// Ends what a dead incarnation left: in every partition it loses the right to write, then its sessions.
///
/// All of it can be repeated or done by two at once: scripts take out only what is still the dead one's. The lease's
/// mark goes last, so a reaper that dies on the way is followed by another.
package final class Reaper {
    private unowned let shard: ShardLogic
    private var underWay: Set<String> = []

    /// Users whose sessions one script call ends: some tens of microseconds of Redis' time.
    private static let batch = 50
    /// Partitions that are worked on at a time.
    private static let window = 16

    init(_ shard: ShardLogic) { self.shard = shard }

    /// `renewedAt`: when the dead one was last known to be alive, by Redis' clock: its users' `lastSeen`.
    package func reap(_ incarnation: String, renewedAt: Timestamp, done: @escaping () -> Void = {}) {
        guard underWay.insert(incarnation).inserted else { return done() }
        var failed = false
        let started = shard.clock.now
        var users = 0
        BoundedConcurrency(Array(0..<shard.partitions.count), window: Self.window) { [self] partition, next in
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

    /// Fences the partition and ends sessions until none is left; `nil` when Redis did not answer, or when users are left
    /// whose records are damaged: those wait for `presenced doctor`, and the lease's mark for them.
    ///
    /// - Parameter damaged: Users that are passed over.
    private func clear(
        _ partition: Int, of incarnation: String, renewedAt: Timestamp, except damaged: Set<String> = [],
        done: @escaping (Int?) -> Void
    ) {
        let keys = shard.partitions.keys(partition)
        let usersKey = keys.users(ofShard: incarnation)
        let call = ScriptCall(
            .fence, ["shards": keys.shards, "shardUsers": usersKey, "fenced": keys.fenced(incarnation)],
            ["incarnation": incarnation, "most": Self.batch + damaged.count])
        shard.run(call) { [self] result in
            guard case .success(let value) = result else { return done(nil) }
            let names = ScriptReply(value).rest.compactMap(\.string).filter { !damaged.contains($0) }
            guard !names.isEmpty else { return done(damaged.isEmpty ? 0 : nil) }
            end(names, in: keys, of: incarnation, renewedAt) { [self] failed in
                guard let failed else { return done(nil) }
                let count = names.count - failed.count
                clear(partition, of: incarnation, renewedAt: renewedAt, except: damaged.union(failed)) { rest in
                    done(rest.map { $0 + count })
                }
            }
        }
    }

    /// Ends the dead one's sessions of these users. `done` gets those whose records are damaged, or `nil` when Redis did
    /// not answer.
    private func end(
        _ names: [String], in keys: PartitionKeys, of incarnation: String, _ renewedAt: Timestamp,
        done: @escaping ([String]?) -> Void
    ) {
        let users = names.compactMap { UserID($0) }
        shard.run(.reap(users, in: keys, of: incarnation, renewedAt, shard.past)) { [self] result in
            switch result {
            case .success:
                for feature in shard.features { feature.reaped(users, of: incarnation, renewedAt: renewedAt) }
                done([])
            case .failure(let failure) where failure.isLasting && names.count > 1:
                // One of them is damaged: each by itself, so that it keeps no other.
                var damaged: [String]? = []
                BoundedConcurrency(names, window: Self.window) { [self] name, next in
                    end([name], in: keys, of: incarnation, renewedAt) { failed in
                        damaged = failed.flatMap { failed in damaged.map { $0 + failed } }
                        next()
                    }
                } done: {
                    done(damaged)
                }
            case .failure(let failure) where failure.isLasting: done(names)
            case .failure: done(nil)
            }
        }
    }
}

extension ScriptCall {
    /// Ends what a dead incarnation left of some users, who were last seen when it was last renewed.
    package static func reap(
        _ users: [UserID], in keys: PartitionKeys, of incarnation: String, _ renewed: Timestamp, _ past: PastStatuses?
    ) -> ScriptCall {
        ScriptCall(
            .reap, ["floor": keys.floor, "shardUsers": keys.users(ofShard: incarnation)],
            ["channel": keys.events, "incarnation": incarnation, "renewed": renewed, "bounds": past.bounds],
            each: users,
            eachKey: users.flatMap { user in
                [keys.user(user), keys.sessions(user), past.key(of: user, in: keys, or: keys.user(user))]
            })
    }

    /// Ends one session.
    ///
    /// - Parameter silence: ms since anything was received from it.
    package static func end(
        _ session: String, of user: UserID, in keys: PartitionKeys, by incarnation: String, silence: Milliseconds,
        _ past: PastStatuses?
    ) -> ScriptCall {
        ScriptCall(
            .end, in: keys,
            [
                "user": keys.user(user), "sessions": keys.sessions(user),
                "shardUsers": keys.users(ofShard: incarnation),
                "past": past.key(of: user, in: keys, or: keys.user(user)),
            ], ["id": user, "sessionID": session, "silence": silence, "bounds": past.bounds])
    }
}
