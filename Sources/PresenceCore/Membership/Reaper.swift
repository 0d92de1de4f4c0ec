import PresenceProtocol
import Redis

/// Removes what a dead incarnation left: in every partition its right to write, then its sessions.
///
/// All of it can be repeated or done by two reapers at once: scripts remove only what still belongs to the dead
/// incarnation. The lease's mark is removed last, so a reaper that dies on the way is followed by another.
package final class Reaper {
    private unowned let shard: ShardLogic
    private var underWay: Set<String> = []

    /// Users whose sessions one script call ends: some tens of microseconds of Redis' time.
    private static let batch = 50
    /// Partitions processed concurrently.
    private static let window = 16

    init(_ shard: ShardLogic) { self.shard = shard }

    /// `renewedAt`: when the dead incarnation was last known to be alive, by Redis' clock: its users' `lastSeen`.
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

    /// Fences the partition and ends sessions until none is left. `done` gets `nil` if Redis did not reply, or if users
    /// with damaged records remain: these, and the lease's mark with them, are left to `presenced doctor`.
    ///
    /// - Parameter damaged: Users that are skipped.
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

    /// Ends the dead incarnation's sessions of these users. `done` gets those whose records are damaged, or `nil` if
    /// Redis did not reply.
    private func end(
        _ names: [String], in keys: PartitionKeys, of incarnation: String, _ renewedAt: Timestamp,
        done: @escaping ([String]?) -> Void
    ) {
        let users = names.compactMap { UserID($0) }
        shard.run(.reap(users, in: keys, of: incarnation, renewedAt, shard.past)) { [self] result in
            switch result {
            case .success(let value):
                // The script did not end the other users' sessions: by now they are connected elsewhere.
                let ended = ScriptReply(value).rest.compactMap { $0.string.flatMap { UserID($0) } }
                if !ended.isEmpty {
                    for feature in shard.features { feature.reaped(ended, of: incarnation, renewedAt: renewedAt) }
                }
                done([])
            case .failure(let failure) where failure.isLasting && names.count > 1:
                // One of the records is damaged: each user separately, so that the damaged one does not block the
                // others.
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
    /// Ends the sessions that a dead incarnation left for some users, who were last seen at its last renewal.
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
    /// - Parameter silence: The ms since anything was received from it.
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
