import Foundation

/// Keeps the people heard of last in a file, over launches and crashes. A power cut may cost the last seconds.
public actor FileCache: PresenceCache {
    private let directory: StorageDirectory
    private let capacity: Int
    private var people: [String: (person: CachedPerson, turn: Int)] = [:]
    private var turn = 0
    private var journal: Journal
    /// The bytes of the newest record of everybody.
    private var live = 0

    private static let format: UInt32 = 1
    /// Below this size a file is not rewritten.
    private static let smallestRewrite = 256 << 10

    init(_ directory: StorageDirectory, capacity: Int, problems: inout [String]) throws {
        precondition(capacity > 0, "a cache of \(capacity) people")
        self.directory = directory
        self.capacity = capacity
        var records: [[UInt8]] = []
        journal = try Journal(
            path: directory.path("people"), format: Self.format, records: &records, problems: &problems)
        let decoder = JSONDecoder()
        for record in records {
            // A person that this version cannot read is asked for again.
            guard let person = try? decoder.decode(CachedPerson.self, from: Data(record)) else { continue }
            turn += 1
            people[person.user] = (person, turn)
        }
        let sizes = records.map(\.count)
        live = sizes.isEmpty ? 0 : sizes.reduce(0, +) / sizes.count * people.count
    }

    public func read(_ users: [String]) -> [CachedPerson] {
        users.compactMap { people[$0]?.person }
    }

    public func write(_ newer: [CachedPerson]) {
        var records: [[UInt8]] = []
        let encoder = JSONEncoder()
        for person in newer {
            turn += 1
            let isNew = people.updateValue((person, turn), forKey: person.user) == nil
            guard let record = try? encoder.encode(person) else { continue }
            records.append([UInt8](record))
            if isNew { live += record.count }
        }
        evict()
        // A cache that cannot be written is a smaller one: what is held still counts, and the next write tries again.
        try? journal.append(records, isDurable: false)
        if journal.size > max(Self.smallestRewrite, live * 3) { rewrite() }
    }

    public func removeAll() throws {
        people = [:]
        live = 0
        try journal.removeAll()
    }

    /// A quarter more than needed goes, so that a full cache is not sorted at every write.
    private func evict() {
        guard people.count > capacity else { return }
        let goal = max(1, capacity - capacity / 4)
        let oldest = people.sorted { $0.value.turn < $1.value.turn }.prefix(people.count - goal)
        for (user, _) in oldest { people[user] = nil }
        rewrite()
    }

    private func rewrite() {
        let encoder = JSONEncoder()
        let records = people.values.sorted { $0.turn < $1.turn }.compactMap { try? encoder.encode($0.person) }
        live = records.reduce(0) { $0 + $1.count }
        try? journal.rewrite(records.map { [UInt8]($0) }, format: Self.format)
    }
}
