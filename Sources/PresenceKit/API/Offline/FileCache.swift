import Foundation

/// Caches the most recently updated users in a file that survives launches and crashes. A power cut may lose the last
/// seconds.
package actor FileCache: PresenceCache {
    private let directory: StorageDirectory
    private var people: RecentPeople
    private var journal: Journal
    /// The records of the file until they are first needed. A launch that shows only conversations does not wait for
    /// them: 10,000 take a third of a second to decode.
    private var undecoded: [[UInt8]]
    /// The size of all users' newest records, in bytes.
    private var live = 0
    private var isClosed = false

    private static let format: UInt32 = 1
    /// The file is not rewritten below this size.
    private static let smallestRewrite = 256 << 10

    init(_ directory: StorageDirectory, capacity: Int, problems: inout [String]) throws {
        var records: [[UInt8]] = []
        journal = try Journal(
            path: directory.path("people"), format: Self.format, records: &records, problems: &problems)
        (self.directory, people, undecoded) = (directory, RecentPeople(capacity: capacity), records)
    }

    private func decode() {
        guard !undecoded.isEmpty else { return }
        let decoder = JSONDecoder()
        for record in undecoded {
            // Records that this version cannot read are skipped; the server is asked again for these users.
            if let person = try? decoder.decode(CachedPerson.self, from: Data(record)) { people.write(person) }
        }
        let sizes = undecoded.map(\.count)
        live = sizes.reduce(0, +) / sizes.count * people.count
        undecoded = []
        // An earlier process may have had a larger capacity.
        if people.evict(), !isClosed { live = Self.rewrite(&journal, people) }
    }

    package func read(_ users: [String]) -> [CachedPerson] {
        decode()
        return people.read(users)
    }

    package func write(_ newer: [CachedPerson]) {
        decode()
        var records: [[UInt8]] = []
        let encoder = JSONEncoder()
        for person in newer {
            let isNew = people.write(person)
            guard let record = try? encoder.encode(person) else { continue }
            records.append([UInt8](record))
            if isNew { live += record.count }
        }
        guard !isClosed else { return }
        if people.evict() { live = Self.rewrite(&journal, people) }
        // A failed write is ignored: the people in memory remain valid, and the next write tries again.
        try? journal.append(records, isDurable: false)
        if journal.size > max(Self.smallestRewrite, live * 3) { live = Self.rewrite(&journal, people) }
    }

    package func removeAll() throws {
        people.removeAll()
        (undecoded, live) = ([], 0)
        if isClosed { throw StorageError.closed(directory.path("people")) }
        try journal.removeAll()
    }

    func close() { isClosed = true }

    /// - Returns: the size of the written records, in bytes.
    private static func rewrite(_ journal: inout Journal, _ people: RecentPeople) -> Int {
        let encoder = JSONEncoder()
        let records = people.oldestFirst.compactMap { try? encoder.encode($0) }
        try? journal.rewrite(records.map { [UInt8]($0) }, format: format)
        return records.reduce(0) { $0 + $1.count }
    }
}
