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

/// With interests a shard does not see all versions. This is an upper bound of the versions that a partition may have
/// reached.
///
/// A version is above the previous one, above the floor, and not behind Redis' clock. Nothing changes more than once a
/// millisecond for long. So versions stay below a clock that starts at the higher of Redis' known time and the floor.
/// If Redis has lost changes and its clock was set back, the floor is raised to this bound, so that later versions are
/// newer than any that clients have seen.
struct VersionCeiling {
    /// The most that Redis' clock was ahead of the shard's, in ms.
    private var time = Int64.min
    /// The most that each partition's floor was ahead of the shard's clock, in ms.
    private var floors: [Int64]

    init(partitions: Int) { floors = Array(repeating: .min, count: partitions) }

    /// - Parameters:
    ///   - redisTime: The time in a reply.
    ///   - now: On the shard's monotonic clock.
    mutating func learn(_ redisTime: Timestamp, at now: Milliseconds) { time = max(time, redisTime - now) }

    mutating func learn(floor: Int64, of partition: Int, at now: Milliseconds) {
        floors[partition] = max(floors[partition], floor - now)
    }

    /// No version above this has been assigned yet; 0 if nothing is known.
    func version(_ partition: Int, at now: Milliseconds) -> Int64 {
        let ahead = max(time, floors[partition])
        return ahead == .min ? 0 : now + ahead
    }
}
