import PresenceProtocol

/// Policies with long lists that are cached for a moment after nothing needs them any more.
struct KeptPolicies {
    /// Duration, in ms.
    static let duration: Milliseconds = 60_000
    /// Shorter lists are cheap to read again.
    private static let fewest = 100
    /// The most ids that are cached on a shard: some 10 MB, or 20 MB with the longest ids.
    private static let most = 100_000

    private var entries: [UserID: (listed: Int, until: Milliseconds)] = [:]
    private var sum = 0

    var all: [UserID] { Array(entries.keys) }

    /// - Returns: Whether the policy is worth caching.
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

    /// Removes the oldest entries that exceed the limit, and returns them.
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
