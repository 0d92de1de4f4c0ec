/// Many people at once, as they are now, and who changed since the loop last looked.
public struct Roster: Sendable {
    /// Whom the app asked for, in its order, without repetition.
    public let users: [String]
    /// Who differs from the roster that the loop got before; in the first one, everybody in ``people``.
    public let changed: Set<String>
    /// One entry for each of `users`; `nil` while nothing is known of them.
    private let entries: [Entry?]
    private let places: [String: Int]

    /// A person behind a reference, so that the next roster of ten thousand shares all those who did not change.
    final class Entry: Sendable {
        let person: Person
        init(_ person: Person) { self.person = person }
    }

    init(users: [String], places: [String: Int], entries: [Entry?], changed: Set<String>) {
        self.users = users
        self.places = places
        self.entries = entries
        self.changed = changed
    }

    /// Those of whom there is something to show, in the order asked. Made anew at each call.
    public var people: [Person] { entries.compactMap { $0?.person } }

    /// Those who are here, in the order asked. Made anew at each call.
    public var online: [Person] {
        entries.compactMap { entry in
            guard let person = entry?.person, person.isOnline else { return nil }
            return person
        }
    }

    /// Whether everybody asked for has been answered (or refused).
    public var isComplete: Bool { entries.allSatisfy { $0 != nil } }

    /// Live if everybody in ``people`` is (those who were refused aside); else the oldest staleness among them.
    public var freshness: Freshness {
        let oldest = entries.lazy.compactMap { $0?.person.freshness.staleSince }.min()
        return oldest.map { .stale(since: $0) } ?? .live
    }

    /// One of them, or `nil` while nothing is known of them yet.
    public subscript(user: String) -> Person? { places[user].flatMap { entries[$0]?.person } }
}
