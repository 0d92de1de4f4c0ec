import PresenceProtocol

/// Whose policies are kept for a moment although nothing needs them, because their lists are long.
struct KeptPolicies {
    /// How long, in ms.
    static let duration: Milliseconds = 60_000
    /// Shorter lists are read again at no cost worth speaking of.
    private static let fewest = 100
    /// So many ids are kept on a shard at most: some 10 MB, 20 of the longest ids.
    private static let most = 100_000

    private var entries: [UserID: (listed: Int, until: Milliseconds)] = [:]
    private var sum = 0

    var all: [UserID] { Array(entries.keys) }

    /// - Returns: Whether its policy is worth keeping.
    mutating func keep(_ user: UserID, listed: Int, at now: Milliseconds) -> Bool {
        forget(user)
        guard Self.fewest...Self.most ~= listed else { return false }
        entries[user] = (listed, now + Self.duration)
        sum += listed
        return true
    }

    mutating func forget(_ user: UserID) {
        guard let entry = entries.removeValue(forKey: user) else { return }
        sum -= entry.listed
    }

    func isOver(_ user: UserID, at now: Milliseconds) -> Bool { entries[user].map { now >= $0.until } ?? false }

    /// Those that are too many, the longest kept first; they are forgotten.
    mutating func excess() -> [UserID] {
        var users: [UserID] = []
        while sum > Self.most,
            let oldest = entries.min(by: { ($0.value.until, $0.key) < ($1.value.until, $1.key) })?.key
        {
            users.append(oldest)
            forget(oldest)
        }
        return users
    }
}
