import Foundation

/// Stores records of an attached library by key, such as messages, so that they can be shown while the client is
/// disconnected. In memory, or in an append-only file that survives launches and crashes; a power cut may lose its last
/// seconds.
package actor RecordStore {
    private var records: [String: Data] = [:]
    /// `nil` for a store in memory.
    private var journal: Journal?
    /// The size of the newest records, in bytes.
    private var live = 0
    /// Whether the file lacks newer records, because a write failed.
    private var isBehind = false

    /// The file is not rewritten below this size.
    private static let smallestRewrite = 256 << 10

    /// Creates a store in memory.
    package init() {}

    init(_ directory: StorageDirectory, problems: inout [String]) throws {
        var found: [[UInt8]] = []
        journal = try Journal(path: directory.path("history"), format: 1, records: &found, problems: &problems)
        for record in found {
            guard let (key, value) = Self.read(record) else { continue }
            live += Self.size(key, value) - (records[key].map { Self.size(key, $0) } ?? 0)
            records[key] = value
        }
    }

    /// Returns all records.
    package func load() -> [String: Data] { records }

    /// Stores records in this order; each replaces the record of its key, and `nil` removes it.
    ///
    /// - Parameter erasing: former values do not stay on the disk.
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
        guard journal != nil else { return }
        do {
            // Later records build on earlier ones: the file has all up to a moment, and then all or none.
            if isBehind || erasing { try rewrite() } else { try journal!.append(appended, isDurable: false) }
            isBehind = false
            if journal!.size > max(Self.smallestRewrite, live * 3) { try rewrite() }
        } catch {
            isBehind = true
        }
    }

    /// Removes all records.
    ///
    /// - Throws: if data may survive until the next launch; the client logs the error.
    package func removeAll() throws {
        (records, live) = ([:], 0)
        try journal?.removeAll()
        isBehind = false
    }

    func close() { journal?.close() }

    private func rewrite() throws {
        try journal?.rewrite(records.map { Self.record($0.key, $0.value) })
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
