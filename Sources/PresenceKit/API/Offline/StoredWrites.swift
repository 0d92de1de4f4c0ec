import Foundation

/// Keeps writes for the life of the process, or in a file that survives launches, crashes and power cuts: an append
/// returns once it is on the disk, except for writes that may get lost in a power cut.
package actor StoredWrites: WriteQueue {
    private let capacity: Int
    private var owner: String?
    private var writes: [QueuedWrite] = []
    /// `nil` for a queue in memory.
    private var journal: Journal?

    /// The file is not rewritten below this size.
    private static let smallestRewrite = 64 << 10

    /// One change of the queue; the file is a sequence of them.
    private enum Record: Codable {
        case owner(String)
        case append(QueuedWrite)
        case remove([String])
    }

    /// Creates an empty queue in memory; an append beyond `capacity` throws ``StorageError/full(_:)``.
    package init(capacity: Int = 10_000) { self.capacity = capacity }

    init(_ directory: StorageDirectory, capacity: Int, problems: inout [String]) throws {
        self.capacity = capacity
        var records: [[UInt8]] = []
        journal = try Journal(path: directory.path("writes"), format: 1, records: &records, problems: &problems)
        let decoder = JSONDecoder()
        for record in records {
            switch try? decoder.decode(Record.self, from: Data(record)) {
            case .owner(let user):
                owner = user
                writes.removeAll { $0.owner != user }
            case .append(let write): writes.append(write)
            case .remove(let ids): writes.removeAll { ids.contains($0.id) }
            case nil: continue
            }
        }
    }

    package func load() -> (owner: String?, writes: [QueuedWrite]) { (owner, writes) }

    package func setOwner(_ user: String) throws {
        guard user != owner || writes.contains(where: { $0.owner != user }) else { return }
        try appendRecord(.owner(user))
        owner = user
        writes.removeAll { $0.owner != user }
    }

    package func append(_ write: QueuedWrite) throws {
        guard writes.count < capacity else { throw StorageError.full(capacity) }
        try appendRecord(.append(write), isDurable: write.mayGetLost != true)
        writes.append(write)
    }

    package func remove(_ ids: [String]) throws {
        let removed = writes.filter { ids.contains($0.id) }
        guard !removed.isEmpty else { return }
        try appendRecord(.remove(ids), isDurable: removed.contains { $0.mayGetLost != true })
        writes.removeAll { ids.contains($0.id) }
        if let size = journal?.size, size > Self.smallestRewrite, writes.count * 1_024 < size { try rewrite() }
    }

    package func removeAll() throws {
        (owner, writes) = (nil, [])
        try journal?.removeAll()
    }

    func close() { journal?.close() }

    private func appendRecord(_ record: Record, isDurable: Bool = true) throws {
        try journal?.append([[UInt8](JSONEncoder().encode(record))], isDurable: isDurable)
    }

    private func rewrite() throws {
        let encoder = JSONEncoder()
        var records = try writes.map { [UInt8](try encoder.encode(Record.append($0))) }
        if let owner { records.insert([UInt8](try encoder.encode(Record.owner(owner))), at: 0) }
        try journal?.rewrite(records)
    }
}
