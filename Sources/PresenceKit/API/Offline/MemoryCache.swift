/// Caches the most recently updated users in memory.
public actor MemoryCache: PresenceCache {
    /// The maximum number of users; the least recently updated are evicted first.
    public let capacity: Int
    private var people: RecentPeople

    /// Creates an empty cache. `capacity` must be at least 1.
    public init(capacity: Int = 10_000) {
        self.capacity = capacity
        people = RecentPeople(capacity: capacity)
    }

    public func read(_ users: [String]) -> [CachedPerson] { people.read(users) }

    public func write(_ newer: [CachedPerson]) {
        for person in newer { people.write(person) }
        _ = people.evict()
    }

    public func removeAll() { people.removeAll() }
}
