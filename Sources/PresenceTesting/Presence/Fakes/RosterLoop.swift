import PresenceKit

/// The rosters of a feed for one loop: each names the users that differ from the loop's previous roster.
struct RosterLoop: AsyncSequence, Sendable {
    typealias Element = Roster
    typealias Failure = Never
    let feed: Feed<[String: Person]>
    let users: [String]

    func makeAsyncIterator() -> Iterator {
        Iterator(people: feed.updates.makeAsyncIterator(), roster: Roster(users))
    }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Never
        fileprivate var people: PresenceUpdates<[String: Person]>.Iterator
        fileprivate var roster: Roster
        private var isFirst = true

        fileprivate init(people: PresenceUpdates<[String: Person]>.Iterator, roster: Roster) {
            self.people = people
            self.roster = roster
        }

        mutating func next() async -> Roster? {
            while let known = await people.next() {
                let changed = roster.users.compactMap { user in
                    known[user].flatMap { roster[user] == $0 ? nil : $0 }
                }
                guard !changed.isEmpty || isFirst && roster.users.isEmpty else { continue }
                isFirst = false
                roster.update(with: changed)
                return roster
            }
            return nil
        }
    }
}
