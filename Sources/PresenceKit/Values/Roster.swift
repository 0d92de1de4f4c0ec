/// Many people at once, as they are now, and who changed since the loop last looked.
public struct Roster: Sendable {
    /// Whom the app asked for, in its order, without repetition.
    public let users: [String]
    /// Those of whom there is something to show, in the order asked.
    public let people: [Person]
    /// Who differs from the roster that the loop got before; in the first one, everybody in ``people``.
    public let changed: Set<String>
    /// Live if everybody in it is; else the oldest staleness among them.
    public let freshness: Freshness
    private let places: [String: Int]

    init(users: [String], people: [Person], changed: Set<String>, freshness: Freshness) {
        self.users = users
        self.people = people
        self.changed = changed
        self.freshness = freshness
        places = Dictionary(people.enumerated().map { ($1.user, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Whether everybody asked for has been answered (or refused).
    public var isComplete: Bool { people.count == users.count }

    /// Those who are here, in the order asked.
    public var online: [Person] { people.filter(\.isOnline) }

    /// One of them, or `nil` while nothing is known of them yet.
    public subscript(user: String) -> Person? { places[user].map { people[$0] } }
}
