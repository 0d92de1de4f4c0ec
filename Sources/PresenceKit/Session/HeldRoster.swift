import PresenceProtocol

/// What one loop on a roster has been given, and who has changed since. A change costs nothing for those who did not.
struct HeldRoster: Sendable {
    let users: [String]
    private let places: [String: Int]
    private var entries: [Roster.Entry?]
    /// Who is to be looked at again.
    private var touched: Set<String>
    private var hasYielded = false

    init(_ users: [String]) {
        self.users = users
        places = Dictionary(users.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        entries = Array(repeating: nil, count: users.count)
        touched = Set(users)
    }

    mutating func touch(_ user: UserID) {
        touched.insert(user.string)
    }

    /// The roster as it is now, if anybody in it changed. An empty one is news once.
    mutating func next(_ person: (String) -> Person?) -> Roster? {
        var changed: Set<String> = []
        for user in touched {
            guard let place = places[user], let person = person(user) else { continue }
            entries[place] = Roster.Entry(person)
            changed.insert(user)
        }
        touched = []
        guard !changed.isEmpty || (users.isEmpty && !hasYielded) else { return nil }
        hasYielded = true
        return Roster(users: users, places: places, entries: entries, changed: changed)
    }
}
