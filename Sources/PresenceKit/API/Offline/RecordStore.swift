import Foundation

/// Stores records of an attached library by key, such as messages, so that they can be shown while the client is
/// disconnected. Like a ``PresenceCache``: the client never makes two calls at the same time, and each must return.
package protocol RecordStore: Sendable {
    /// Returns all records.
    func load() async -> [String: Data]
    /// Stores records in this order; each replaces the record of its key, and `nil` removes it.
    ///
    /// - Parameter erasing: former values do not stay on the disk.
    func write(_ records: [(key: String, value: Data?)], erasing: Bool) async
    /// Removes all records.
    ///
    /// - Throws: if data may survive until the next launch; the client logs the error.
    func removeAll() async throws
}

/// Keeps records in memory, for the life of the process.
package actor MemoryRecords: RecordStore {
    private var records: [String: Data] = [:]

    package init() {}

    package func load() -> [String: Data] { records }

    package func write(_ newer: [(key: String, value: Data?)], erasing: Bool) {
        for (key, value) in newer { records[key] = value }
    }

    package func removeAll() { records = [:] }
}

/// Keeps records in an append-only file that survives launches and crashes. A power cut may lose the last seconds.
package actor FileRecords: RecordStore {
    private let path: String
    private var records: [String: Data] = [:]
    private var journal: Journal
    /// The size of the newest records, in bytes.
    private var live = 0
    private var isClosed = false
    /// Whether the file lacks newer records, because a write failed.
    private var isBehind = false

    private static let format: UInt32 = 1
    /// The file is not rewritten below this size.
    private static let smallestRewrite = 256 << 10

    init(_ directory: StorageDirectory, problems: inout [String]) throws {
        path = directory.path("history")
        var found: [[UInt8]] = []
        journal = try Journal(path: path, format: Self.format, records: &found, problems: &problems)
        for record in found {
            guard let (key, value) = Self.read(record) else { continue }
            live += Self.size(key, value) - (records[key].map { Self.size(key, $0) } ?? 0)
            records[key] = value
        }
    }

    package func load() -> [String: Data] { records }

    package func write(_ newer: [(key: String, value: Data?)], erasing: Bool) {
        var appended: [[UInt8]] = []
        for (key, value) in newer {
            let record = Self.record(key, value)
            // A longer record would hide all later ones. Without it, the server is asked for the value again.
            let value = record.count > Journal.longestRecord ? nil : value
            live += Self.size(key, value) - (records[key].map { Self.size(key, $0) } ?? 0)
            records[key] = value
            appended.append(value == nil ? Self.record(key, nil) : record)
        }
        guard !isClosed else { return }
        do {
            // Later records build on earlier ones: the file has all up to a moment, and then all or none.
            if isBehind || erasing { try rewrite() } else { try journal.append(appended, isDurable: false) }
            isBehind = false
            if journal.size > max(Self.smallestRewrite, live * 3) { try rewrite() }
        } catch {
            isBehind = true
        }
    }

    package func removeAll() throws {
        (records, live) = ([:], 0)
        if isClosed { throw StorageError.closed(path) }
        try journal.removeAll()
        isBehind = false
    }

    func close() { isClosed = true }

    private func rewrite() throws {
        try journal.rewrite(records.map { Self.record($0.key, $0.value) }, format: Self.format)
    }

    // A record: the length of the key (2 bytes, little-endian), the key, the value; without a value it is a removal.

    private static func record(_ key: String, _ value: Data?) -> [UInt8] {
        let name = Array(key.utf8)
        return [UInt8(truncatingIfNeeded: name.count), UInt8(truncatingIfNeeded: name.count >> 8)] + name
            + (value ?? Data())
    }

    private static func read(_ record: [UInt8]) -> (key: String, value: Data?)? {
        guard record.count >= 2 else { return nil }
        let end = 2 + Int(record[0]) + Int(record[1]) << 8
        guard record.count >= end else { return nil }
        return (
            String(decoding: record[2..<end], as: UTF8.self), record.count == end ? nil : Data(record[end...])
        )
    }

    private static func size(_ key: String, _ value: Data?) -> Int {
        value.map { 2 + key.utf8.count + $0.count } ?? 0
    }
}
