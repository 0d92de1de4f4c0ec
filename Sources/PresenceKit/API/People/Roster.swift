import Foundation

/// The current values of many users, and the users that changed since the loop's previous element.
///
/// As a collection, a roster has all requested users, known or not, in the requested order, like the rows of a list.
/// The cost of the next roster depends on the number of changed users, not on the number of all users. A member that
/// iterates over all users has a note about that in its documentation.
public struct Roster: Sendable {
    /// The ids that the app requested, in its order, without duplicates.
    public let users: [String]
    /// The users that differ from the loop's previous roster. In a loop's first roster, all users in ``people``.
    public private(set) var changed: Set<String> = []
    /// The index of each user in `users`.
    private let places: [String: Int]
    /// The values of `users` in blocks. For each change, the next roster copies the block with the changed user, and only
    /// the references to the other blocks.
    private var blocks: [Block]
    private var known = 0
    private var stale = 0

    private static let blockSize = 128

    /// A reference to a user's value, which is cheaper to copy than the value.
    private final class Entry: Sendable {
        let person: Person
        init(_ person: Person) { self.person = person }
    }

    /// The values of one block of `users`; `nil` for users that are not known yet.
    private final class Block: Sendable {
        let entries: [Entry?]
        init(_ entries: [Entry?]) { self.entries = entries }
        var people: some Sequence<Person> { entries.lazy.compactMap { $0?.person } }
    }

    /// Creates a roster of `users`, without duplicates. `people` has the known values.
    public init(_ users: some Sequence<String>, people: [Person] = []) {
        var places: [String: Int] = [:]
        var unique: [String] = []
        for user in users where places[user] == nil {
            places[user] = unique.count
            unique.append(user)
        }
        self.users = unique
        self.places = places
        blocks = stride(from: 0, to: unique.count, by: Self.blockSize).map { start in
            Block(Array(repeating: nil, count: Swift.min(Self.blockSize, unique.count - start)))
        }
        update(with: people)
    }

    /// Makes this the next roster, in which the given users changed.
    public mutating func update(with people: [Person]) {
        changed = Set(people.lazy.map(\.user).filter { [places] in places[$0] != nil })
        var altered: [Int: [Entry?]] = [:]
        for person in people {
            guard let place = places[person.user] else { continue }
            let (block, index) = place.quotientAndRemainder(dividingBy: Self.blockSize)
            let former = altered[block, default: blocks[block].entries][index]?.person
            altered[block, default: blocks[block].entries][index] = Entry(person)
            if former == nil { known += 1 }
            if former?.countsAsStale == true { stale -= 1 }
            if person.countsAsStale { stale += 1 }
        }
        for (block, entries) in altered { blocks[block] = Block(entries) }
    }

    /// The users with known values, in the requested order. Computed on each call by iterating over all users.
    public var people: [Person] { blocks.flatMap(\.people) }

    /// The users who are online, in the requested order. Computed on each call by iterating over all users.
    public var online: [Person] { blocks.flatMap { $0.people.filter(\.isOnline) } }

    /// Whether the server has replied for all users, including with a rejection.
    public var isComplete: Bool { known == users.count }

    /// Live if all users in ``people`` are live, apart from rejected ones. Otherwise the oldest staleness among them,
    /// computed by iterating over all users.
    public var freshness: Freshness {
        guard stale > 0 else { return .live }
        let oldest = blocks.compactMap { $0.people.filter(\.countsAsStale).compactMap(\.freshness.staleSince).min() }
            .min()
        return oldest.map { .stale(since: $0) } ?? .live
    }

    /// The value of one user, or `nil` while it is unknown.
    public subscript(user: String) -> Person? { places[user].flatMap(known(at:)) }

    private func known(at place: Int) -> Person? {
        let (block, index) = place.quotientAndRemainder(dividingBy: Self.blockSize)
        return blocks[block].entries[index]?.person
    }
}

extension Roster: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { users.count }

    /// The value at an index. A user who is not known yet is included as unknown.
    public subscript(position: Int) -> Person {
        known(at: position) ?? Person(unknown: users[position])
    }
}

extension Roster: Equatable {
    /// Whether both have the same users with the same values, regardless of ``changed``.
    public static func == (a: Roster, b: Roster) -> Bool {
        a.users == b.users
            && zip(a.blocks, b.blocks).allSatisfy {
                $0 === $1 || $0.entries.map(\.?.person) == $1.entries.map(\.?.person)
            }
    }
}

/// Encodes the requested ids, the known values, and the changed users.
extension Roster: Codable {
    private enum CodingKeys: String, CodingKey {
        case users, people, changed
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try members.decode([String].self, forKey: .users),
            people: try members.decode([Person].self, forKey: .people))
        changed = try members.decode(Set<String>.self, forKey: .changed)
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(users, forKey: .users)
        try members.encode(people, forKey: .people)
        try members.encode(changed, forKey: .changed)
    }
}

extension Person {
    /// Whether the user makes the roster stale. A rejected user does not, because they will never become live.
    fileprivate var countsAsStale: Bool {
        guard freshness.staleSince != nil else { return false }
        return problem.map { ![.invalidID, .tooMany, .forbidden].contains($0.code) } ?? true
    }

    /// Creates the value of an unknown user.
    public init(unknown user: String, problem: PresenceError? = nil) {
        self.init(
            presence: PersonPresence(user: user, freshness: .unknown, problem: problem),
            profile: PersonProfile(user: user, freshness: .unknown, problem: problem))
    }
}
