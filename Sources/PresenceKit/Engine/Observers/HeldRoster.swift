import PresenceProtocol

/// The last roster given to an observer, and the users changed since. The next roster shares unchanged users with it,
/// in blocks.
struct HeldRoster: Sendable {
    private var roster: Roster
    /// The users that changed since the last roster.
    private var touched: Set<String>
    private var hasYielded = false

    init(_ users: [String]) {
        roster = Roster(users)
        touched = Set(users)
    }

    mutating func touch(_ user: UserID) {
        touched.insert(user.string)
    }

    /// The current roster if any user in it changed. An empty roster is yielded once.
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
