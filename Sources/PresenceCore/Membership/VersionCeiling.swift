import PresenceProtocol

/// With interests a shard does not hear of all versions: how far those of a partition may have got, all the same.
///
/// A version is past the one before, past the floor, and not behind Redis' clock. Nothing changes more than once a millisecond for
/// long. So versions stay below a clock that runs from the highest of Redis' times and the floor that were ever known. If Redis
/// has lost changes and its clock went back, the floor is raised to there, and what clients are told next is newer than what
/// others have told them.
struct VersionCeiling {
    /// How far Redis' clock was ahead of the shard's at most, in ms.
    private var time = Int64.min
    /// The same of the partitions' floors.
    private var floors: [Int64]

    init(partitions: Int) { floors = Array(repeating: .min, count: partitions) }

    /// - Parameters:
    ///   - redisTime: As an answer said.
    ///   - now: On the shard's monotonic clock.
    mutating func learn(_ redisTime: Timestamp, at now: Milliseconds) { time = max(time, redisTime - now) }

    mutating func learn(floor: Int64, of partition: Int, at now: Milliseconds) {
        floors[partition] = max(floors[partition], floor - now)
    }

    /// No version above it was given yet; 0 if nothing is known.
    func version(_ partition: Int, at now: Milliseconds) -> Int64 {
        let ahead = max(time, floors[partition])
        return ahead == .min ? 0 : now + ahead
    }
}
