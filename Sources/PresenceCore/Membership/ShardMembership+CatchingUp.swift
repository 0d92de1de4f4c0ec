import PresenceProtocol

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
        shard.sessions.assertAll { [self] failure in
            proceed(attempt, failure.map { .failure($0) } ?? .success(.null), "moved partitions") { _ in
                shard.loader.reload(partitions) { [self] failure in
                    proceed(attempt, failure.map { .failure($0) } ?? .success(.null), "moved partitions") { _ in
                        resynchroniseFeatures(attempt, .reload(partitions: partitions)) { [self] in
                            catchingUpSince = nil
                            becomeLive()
                            assertRest()
                            catchUp()
                        }
                    }
                }
            }
        }
    }
}
