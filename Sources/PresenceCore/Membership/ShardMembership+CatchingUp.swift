import PresenceProtocol
import Redis

/// Handles slots of a cluster that have moved.
extension ShardMembership {
    /// Reads again what may have been missed while slots moved: only the partitions that moved with them. Everything
    /// else stays live meanwhile, and so do these partitions unless reading them takes long.
    func catchUp() {
        guard !rerouted.isEmpty, catchingUpSince == nil else { return }
        guard isLive, !isResynchronising else {
            // The resynchronisation reads everything; if its reading has begun, it may have been too early.
            guard isResynchronising else { return }
            attempt += 1
            isResynchronising = false
            return resynchroniseIfPossible()
        }
        let partitions = rerouted
        rerouted = []
        attempt += 1
        let attempt = attempt
        catchingUpSince = shard.clock.now
        round += 1
        shard.sessions.trustAll(except: partitions, round: round)
        shard.tasks.run { [self] in
            guard await passes("moved partitions", of: attempt, { shard.sessions.assertAll(done: $0) }),
                await passes("moved partitions", of: attempt, { shard.loader.reload(partitions, done: $0) }),
                await featuresPass(attempt, { (feature) throws(RedisFailure) in try await feature.readAgain() })
            else { return }
            catchingUpSince = nil
            becomeLive()
            assertRest()
            catchUp()
        }
    }
}
