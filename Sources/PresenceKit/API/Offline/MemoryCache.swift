/// Keeps the people written last, in memory.
public actor MemoryCache: PresenceCache {
    /// How many people it keeps; those written longest ago go first.
    public let capacity: Int
    private var people: [String: (person: CachedPerson, turn: Int)] = [:]
    private var turn = 0

    /// Makes an empty cache. A `capacity` below 1 is a fault of the program.
    public init(capacity: Int = 10_000) {
        precondition(capacity > 0, "a cache of \(capacity) people")
        self.capacity = capacity
    }

    public func read(_ users: [String]) -> [CachedPerson] {
        users.compactMap { people[$0]?.person }
    }

    public func write(_ newer: [CachedPerson]) {
        for person in newer {
            turn += 1
            people[person.user] = (person, turn)
        }
        guard people.count > capacity else { return }
        // A quarter more than needed goes, so that a full cache is not sorted at every write.
        let goal = max(1, capacity - capacity / 4)
        let oldest = people.sorted { $0.value.turn < $1.value.turn }.prefix(people.count - goal)
        for (user, _) in oldest { people[user] = nil }
    }

    public func removeAll() {
        people = [:]
    }
}
