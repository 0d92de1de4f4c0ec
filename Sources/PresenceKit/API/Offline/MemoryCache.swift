/// Caches the most recently updated users in memory.
package actor MemoryCache: PresenceCache {
    /// The maximum number of users; the least recently updated are evicted first.
    package let capacity: Int
    private var people: RecentPeople

    /// Creates an empty cache. `capacity` must be at least 1.
    package init(capacity: Int = 10_000) {
        self.capacity = capacity
        people = RecentPeople(capacity: capacity)
    }

    package func read(_ users: [String]) -> [CachedPerson] { people.read(users) }

    package func write(_ newer: [CachedPerson]) {
        for person in newer { people.write(person) }
        _ = people.evict()
    }

    package func removeAll() { people.removeAll() }
}
