import Foundation

/// The last known data of the most recently updated users, so that the client can show it, marked stale, while it is
/// disconnected. In memory, or in a file that survives launches and crashes; a power cut may lose its last seconds.
package actor PresenceCache {
    private var people: RecentPeople
    /// `nil` for a cache in memory.
    private var journal: Journal?
    /// The records of the file until they are first needed. A launch that shows only conversations does not wait for
    /// them: 10,000 take a third of a second to decode.
    private var undecoded: [[UInt8]] = []
    /// The size of all users' newest records, in bytes.
    private var live = 0

    /// The file is not rewritten below this size.
    private static let smallestRewrite = 256 << 10

    /// Creates a cache in memory. A full one drops the least recently updated users.
    package init(capacity: Int = 10_000) { people = RecentPeople(capacity: capacity) }

    init(_ directory: StorageDirectory, capacity: Int, problems: inout [String]) throws {
        journal = try Journal(path: directory.path("people"), format: 1, records: &undecoded, problems: &problems)
        people = RecentPeople(capacity: capacity)
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
        if people.evict() { rewrite() }
    }

    /// Returns those of `users` that are stored, in any order.
    package func read(_ users: [String]) -> [CachedPerson] {
        decode()
        return people.read(users)
    }

    /// Stores each user, replacing the data stored before.
    package func write(_ newer: [CachedPerson]) {
        decode()
        var records: [[UInt8]] = []
        let encoder = JSONEncoder()
        for person in newer {
            let isNew = people.write(person)
            guard journal != nil, let record = try? encoder.encode(person) else { continue }
            records.append([UInt8](record))
            if isNew { live += record.count }
        }
        if people.evict() { rewrite() }
        // A failed write is ignored: the people in memory remain valid, and the next write tries again.
        try? journal?.append(records, isDurable: false)
        if let size = journal?.size, size > max(Self.smallestRewrite, live * 3) { rewrite() }
    }

    /// Removes all users.
    ///
    /// - Throws: if data may survive until the next launch; the client logs the error.
    package func removeAll() throws {
        people.removeAll()
        (undecoded, live) = ([], 0)
        try journal?.removeAll()
    }

    func close() { journal?.close() }

    private func rewrite() {
        guard journal != nil else { return }
        let encoder = JSONEncoder()
        let records = people.oldestFirst.compactMap { try? encoder.encode($0) }
        try? journal!.rewrite(records.map { [UInt8]($0) })
        live = records.reduce(0) { $0 + $1.count }
    }
}
