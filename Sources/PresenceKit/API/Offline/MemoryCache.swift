/// Keeps the people written last, in memory.
public actor MemoryCache: PresenceCache {
    /// How many people it keeps; those written longest ago go first.
    public let capacity: Int
    private var people: RecentPeople

    /// Makes an empty cache. A `capacity` below 1 is a fault of the program.
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
