import PresenceProtocol

/// What a shard does when slots of a cluster have moved.
extension ShardMembership {
    /// Reads again what may have been missed while slots moved: the partitions that came with them, and only those. All
    /// else is live meanwhile, and so are they unless it takes long.
    func catchUp() {
        guard !rerouted.isEmpty, catchingUpSince == nil else { return }
        guard isLive, !isResynchronising else {
            // It reads everything; if it has begun, it may have read too early.
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
                        askFeatures(attempt, .reload(partitions: partitions)) { [self] in
                            catchingUpSince = nil
                            goLive()
                            assertRest()
                            catchUp()
                        }
                    }
                }
            }
        }
    }
}
