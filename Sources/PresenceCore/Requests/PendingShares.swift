import PresenceProtocol

/// The bytes of each user's long requests that are running on a shard. One user may have a quarter of the bytes that
/// may wait for Redis, so that others always find room. A single request is always accepted.
struct PendingShares {
    /// Shorter requests are not counted: the rate of requests bounds them.
    static let least = 4_096
    private static let smallest = 512 * 1_024

    private let most: Int
    private var pending: [UserID: Int] = [:]

    /// - Parameter part: The bytes that may wait for Redis on the shard.
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
    /// Whether a user's request of this many bytes may begin; if not, the refusal is counted as a limit that was met.
    func hasShare(_ user: UserID, for bytes: Int) -> Bool {
        guard !pendingShares.hasRoom(for: bytes, of: user) else { return true }
        metrics.met(.redisBytes)
        return false
    }
}
