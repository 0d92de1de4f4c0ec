import Foundation

/// Many people at once, as they are now, and who changed since the loop last looked.
///
/// As a collection it has everybody asked for, in that order, known or not: rows of a list. Taking the next roster costs
/// as much as there are changes, however many people it has; of its members only those that say so look at everybody.
public struct Roster: Sendable {
    /// Ids the app asked for, in its order, without repetition.
    public let users: [String]
    /// Who differs from the roster that the loop got before; in the first one, everybody in ``people``.
    public private(set) var changed: Set<String> = []
    /// Everybody's place in `users`.
    private let places: [String: Int]
    /// The people of `users`, in blocks of so many: the next roster copies what is in one block for each change, and a
    /// reference for each other block.
    private var blocks: [Block]
    private var known = 0
    private var stale = 0

    private static let blockSize = 128

    /// A person behind a reference, which is cheaper to copy than a person.
    private final class Entry: Sendable {
        let person: Person
        init(_ person: Person) { self.person = person }
    }

    /// Those of one part of `users`; `nil` while nothing is known of them.
    private final class Block: Sendable {
        let entries: [Entry?]
        init(_ entries: [Entry?]) { self.entries = entries }
        var people: some Sequence<Person> { entries.lazy.compactMap { $0?.person } }
    }

    /// A roster of `users`, each once. `people` is what is known of them.
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

    /// Becomes the next roster, in which these people differ.
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

    /// The people with something to show, in the order asked. Made anew at each call, from everybody.
    public var people: [Person] { blocks.flatMap(\.people) }

    /// Those who are here, in the order asked. Made anew at each call, from everybody.
    public var online: [Person] { blocks.flatMap { $0.people.filter(\.isOnline) } }

    /// Whether everybody asked for has been answered (or refused).
    public var isComplete: Bool { known == users.count }

    /// Live if everybody in ``people`` is (those the server refused aside); else the oldest staleness among them, for
    /// which everybody is looked at.
    public var freshness: Freshness {
        guard stale > 0 else { return .live }
        let oldest = blocks.compactMap { $0.people.filter(\.countsAsStale).compactMap(\.freshness.staleSince).min() }
            .min()
        return oldest.map { .stale(since: $0) } ?? .live
    }

    /// One of them, or `nil` while nothing is known of them yet.
    public subscript(user: String) -> Person? { places[user].flatMap(known(at:)) }

    private func known(at place: Int) -> Person? {
        let (block, index) = place.quotientAndRemainder(dividingBy: Self.blockSize)
        return blocks[block].entries[index]?.person
    }
}

extension Roster: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { users.count }

    /// A user about whom nothing is known yet is there too, as unknown.
    public subscript(position: Int) -> Person {
        known(at: position) ?? Person(unknown: users[position])
    }
}

extension Roster: Equatable {
    /// Whether both show the same people in the same way, whatever changed before.
    public static func == (a: Roster, b: Roster) -> Bool {
        a.users == b.users
            && zip(a.blocks, b.blocks).allSatisfy {
                $0 === $1 || $0.entries.map(\.?.person) == $1.entries.map(\.?.person)
            }
    }
}

/// Who was asked for, the people that are known, and who changed.
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
    /// Whether it makes a roster stale: somebody whom the server refused will not become live.
    fileprivate var countsAsStale: Bool {
        guard freshness.staleSince != nil else { return false }
        return problem.map { ![.invalidID, .tooMany, .forbidden].contains($0.code) } ?? true
    }

    /// A user about whom nothing is known.
    public init(unknown user: String, problem: PresenceError? = nil) {
        self.init(
            presence: PersonPresence(user: user, freshness: .unknown, problem: problem),
            profile: PersonProfile(user: user, freshness: .unknown, problem: problem))
    }
}
