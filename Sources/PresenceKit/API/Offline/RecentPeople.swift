/// The most recently updated users of a cache, up to its capacity.
struct RecentPeople: Sendable {
    let capacity: Int
    private var people: [String: (person: CachedPerson, turn: Int)] = [:]
    private var turn = 0

    /// `capacity` must be at least 1.
    init(capacity: Int) {
        precondition(capacity > 0, "a cache of \(capacity) people")
        self.capacity = capacity
    }

    var count: Int { people.count }

    /// The least recently updated first.
    var oldestFirst: [CachedPerson] { people.values.sorted { $0.turn < $1.turn }.map(\.person) }

    func read(_ users: [String]) -> [CachedPerson] { users.compactMap { people[$0]?.person } }

    /// Stores a user, replacing earlier data. Returns whether there was none.
    @discardableResult
    mutating func write(_ person: CachedPerson) -> Bool {
        turn += 1
        return people.updateValue((person, turn), forKey: person.user) == nil
    }

    /// Evicts the least recently updated users if there are too many, and returns whether it evicted any. It evicts a
    /// quarter more than needed, so that a full cache is not sorted on every write.
    mutating func evict() -> Bool {
        guard people.count > capacity else { return false }
        let goal = max(1, capacity - capacity / 4)
        let oldest = people.sorted { $0.value.turn < $1.value.turn }.prefix(people.count - goal)
        for (user, _) in oldest { people[user] = nil }
        return true
    }

    mutating func removeAll() { people = [:] }
}
