import PresenceProtocol

/// What one observer of a roster has been given, and who has changed since. A change costs nothing for those who did not:
/// the next roster shares them, in blocks, with the one before.
struct HeldRoster: Sendable {
    private var roster: Roster
    /// Who is to be looked at again.
    private var touched: Set<String>
    private var hasYielded = false

    init(_ users: [String]) {
        roster = Roster(users)
        touched = Set(users)
    }

    mutating func touch(_ user: UserID) {
        touched.insert(user.string)
    }

    /// The roster as it is now, if anybody in it changed. An empty one is news once.
    mutating func next(_ person: (String) -> Person?) -> Roster? {
        var changed: [Person] = []
        for user in touched {
            if let person = person(user) { changed.append(person) }
        }
        touched = []
        guard !changed.isEmpty || (roster.users.isEmpty && !hasYielded) else { return nil }
        hasYielded = true
        roster.update(with: changed)
        return roster
    }
}
