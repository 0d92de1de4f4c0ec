/// The people that a cache was given last, up to its capacity.
struct RecentPeople: Sendable {
    let capacity: Int
    private var people: [String: (person: CachedPerson, turn: Int)] = [:]
    private var turn = 0

    /// A `capacity` below 1 is a fault of the program.
    init(capacity: Int) {
        precondition(capacity > 0, "a cache of \(capacity) people")
        self.capacity = capacity
    }

    var count: Int { people.count }

    /// Those written longest ago first.
    var oldestFirst: [CachedPerson] { people.values.sorted { $0.turn < $1.turn }.map(\.person) }

    func read(_ users: [String]) -> [CachedPerson] { users.compactMap { people[$0]?.person } }

    /// Takes somebody in, in the place of what was held of them; whether that was nothing.
    @discardableResult
    mutating func write(_ person: CachedPerson) -> Bool {
        turn += 1
        return people.updateValue((person, turn), forKey: person.user) == nil
    }

    /// Those written longest ago go, if there are too many; whether any went. A quarter more than needed goes, so that a
    /// full cache is not sorted at every write.
    mutating func evict() -> Bool {
        guard people.count > capacity else { return false }
        let goal = max(1, capacity - capacity / 4)
        let oldest = people.sorted { $0.value.turn < $1.value.turn }.prefix(people.count - goal)
        for (user, _) in oldest { people[user] = nil }
        return true
    }

    mutating func removeAll() { people = [:] }
}
