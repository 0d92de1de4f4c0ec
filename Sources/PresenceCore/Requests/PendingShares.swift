import PresenceProtocol

/// How many bytes of long requests each user has under way on a shard: one user has a quarter of what may wait for Redis, so
/// the others' requests find room whatever one does. One request is taken in any case.
struct PendingShares {
    /// Shorter requests are not counted: their rate bounds them.
    static let least = 4_096
    private static let smallest = 512 * 1_024

    private let most: Int
    private var pending: [UserID: Int] = [:]

    /// - Parameter part: What may wait for Redis on the shard, in bytes.
    init(of part: Int) { most = max(Self.smallest, part / 4) }

    func hasRoom(for bytes: Int, of user: UserID) -> Bool {
        guard bytes >= Self.least, let sum = pending[user] else { return true }
        return sum + bytes <= most
    }

    mutating func add(_ bytes: Int, of user: UserID) {
        let sum = pending[user, default: 0] + bytes
        pending[user] = sum > 0 ? sum : nil
    }
}

extension ShardLogic {
    /// Whether a user's request of so many bytes may be begun; the limit is counted.
    func hasShare(_ user: UserID, for bytes: Int) -> Bool {
        guard !pendingShares.hasRoom(for: bytes, of: user) else { return true }
        metrics.met(.redisBytes)
        return false
    }
}
