import Foundation

/// An append-only file of records, each with its length and a checksum. It survives a kill at any moment: completed
/// appends are kept, and an interrupted one leaves no record.
///
/// ```text
///   file   = magic (8 bytes: "PRESENCE"), format (4), record…
///   record = length of the payload (4), CRC-32 of the payload (4), payload          numbers are little-endian
/// ```
///
/// Reading skips damaged records and stops at an impossible length. A truncated end is the normal result of a kill and
/// is not reported. A file with other damage is kept under a second name and reported. Rewriting makes a new file and
/// renames it over the old one.
///
/// Confined to its owner, an actor.
struct Journal {
    private let path: String
    private let descriptor: FileHandle
    private let format: UInt32
    private(set) var size: Int
    private var isClosed = false

    private static let magic = Array("PRESENCE".utf8)
    private static let headerSize = 12
    /// Longer than any record of this library.
    static let longestRecord = 1 << 20

    /// The content of a file.
    private struct Contents {
        var records: [[UInt8]] = []
        /// The end of the last whole record.
        var end = 0
        /// Whether anything but its end is damaged.
        var isDamaged = false
    }

    /// Opens a file, or makes it, and reads its records.
    ///
    /// - Parameter problems: receives a description of each fault in the file. A damaged or foreign file is renamed
    ///   (`.damaged`), and its readable records are written to a new one.
    /// - Throws: ``StorageError``.
    init(path: String, format: UInt32, records: inout [[UInt8]], problems: inout [String]) throws {
        (self.path, self.format) = (path, format)
        descriptor = try Self.open(path)
        let bytes = try Self.read(descriptor, path)
        let contents = try Self.contents(of: bytes, path, format)
        records = contents.records
        size = contents.end
        if contents.isDamaged {
            problems.append("\(path) is damaged: renamed to \(path).damaged; \(records.count) records were read")
            try rewrite(records, keepingAs: path + ".damaged")
        } else if size == 0 {
            try truncate(to: 0)
            try append(Self.magic + format.littleEndianBytes)
            try Self.synchroniseDirectory(of: path)
        } else if size < bytes.count {
            try truncate(to: size)
        }
    }

    private static func open(_ path: String) throws -> FileHandle {
        let number = Foundation.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw StorageError.failed("open", path, errno) }
        return FileHandle(fileDescriptor: number, closeOnDealloc: true)
    }

    private static func read(_ file: FileHandle, _ path: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = part.withUnsafeMutableBytes {
                pread(file.fileDescriptor, $0.baseAddress, $0.count, off_t(bytes.count))
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw StorageError.failed("read", path, errno) }
            if count == 0 { return bytes }
            bytes += part[..<count]
        }
    }

    private static func contents(of bytes: [UInt8], _ path: String, _ format: UInt32) throws -> Contents {
        var contents = Contents()
        // A file that ends within its header never had a record.
        guard bytes.count >= headerSize else {
            contents.isDamaged = !(magic + format.littleEndianBytes).starts(with: bytes)
            return contents
        }
        guard Array(bytes[..<8]) == magic else {
            contents.isDamaged = true
            return contents
        }
        let found = UInt32(littleEndian: bytes, at: 8)
        guard found <= format else { throw StorageError.laterVersion(path, Int(found)) }
        var position = headerSize
        contents.end = position
        while bytes.count - position >= 8 {
            let length = Int(UInt32(littleEndian: bytes, at: position))
            let begin = position + 8
            if length > longestRecord { contents.isDamaged = true }
            guard length <= longestRecord, bytes.count - begin >= length else { break }
            let payload = Array(bytes[begin..<begin + length])
            position = begin + length
            if UInt32(littleEndian: bytes, at: begin - 4) == CRC32.checksum(payload) {
                contents.records.append(payload)
                contents.end = position
            } else if position < bytes.count {
                contents.isDamaged = true
            }
        }
        return contents
    }

    /// Another client may use the file from now on: all changes throw ``StorageError/closed(_:)``.
    mutating func close() { isClosed = true }

    private func checkOpen() throws {
        if isClosed { throw StorageError.closed(path) }
    }

    /// Appends records in one write. With `isDurable` they survive a power cut, otherwise only the end of the process.
    mutating func append(_ payloads: [[UInt8]], isDurable: Bool) throws {
        try checkOpen()
        // Reading would stop at such a record and lose all records after it.
        guard payloads.allSatisfy({ $0.count <= Self.longestRecord }) else {
            throw StorageError.failed("write", path, EFBIG)
        }
        let former = size
        do {
            try append(payloads.flatMap(Self.record))
            if isDurable { try synchronise() }
        } catch {
            // An incomplete record would hide all later ones.
            try? truncate(to: former)
            throw error
        }
    }

    /// Replaces all records.
    mutating func rewrite(_ payloads: [[UInt8]]) throws { try rewrite(payloads, keepingAs: nil) }

    private mutating func rewrite(_ payloads: [[UInt8]], keepingAs name: String?) throws {
        try checkOpen()
        let fresh = path + ".new"
        unlink(fresh)
        var (records, problems): ([[UInt8]], [String]) = ([], [])
        var journal = try Journal(path: fresh, format: format, records: &records, problems: &problems)
        try journal.append(payloads, isDurable: true)
        if let name, rename(path, name) != 0 { throw StorageError.failed("rename", path, errno) }
        guard rename(fresh, path) == 0 else { throw StorageError.failed("rename", fresh, errno) }
        try Self.synchroniseDirectory(of: path)
        self = Journal(path: path, journal)
    }

    /// Removes all records. Needs no disk space, so it also works on a full disk.
    mutating func removeAll() throws {
        try checkOpen()
        try truncate(to: Self.headerSize)
        try synchronise()
    }

    /// Returns once the written data is on the disk and not only in its cache.
    private func synchronise() throws {
        #if canImport(Darwin)
            // On Darwin, fsync leaves the time of the write to the disk.
            if fcntl(descriptor.fileDescriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor.fileDescriptor) == 0 else { throw StorageError.failed("fsync", path, errno) }
    }

    /// Returns once the names in the file's directory are on the disk.
    static func synchroniseDirectory(of path: String) throws {
        let directory = (path as NSString).deletingLastPathComponent
        let number = Foundation.open(directory, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw StorageError.failed("open", directory, errno) }
        defer { Foundation.close(number) }
        guard fsync(number) == 0 else { throw StorageError.failed("fsync", directory, errno) }
    }

    private init(path: String, _ other: Journal) {
        (self.path, format, descriptor, size) = (path, other.format, other.descriptor, other.size)
    }

    private static func record(_ payload: [UInt8]) -> [UInt8] {
        UInt32(payload.count).littleEndianBytes + CRC32.checksum(payload).littleEndianBytes + payload
    }

    private mutating func append(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                pwrite(descriptor.fileDescriptor, $0.baseAddress, $0.count, off_t(size + done))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw StorageError.failed("write", path, errno) }
            done += count
        }
        size += done
    }

    private mutating func truncate(to length: Int) throws {
        guard ftruncate(descriptor.fileDescriptor, off_t(length)) == 0 else {
            throw StorageError.failed("truncate", path, errno)
        }
        size = length
    }
}

extension UInt32 {
    fileprivate var littleEndianBytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }

    fileprivate init(littleEndian bytes: [UInt8], at index: Int) {
        self = (0..<4).reduce(0) { $0 | UInt32(bytes[index + $1]) << (8 * $1) }
    }
}

/// The checksum of Ethernet and zip files (polynomial 0xEDB88320).
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }

    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc = ~UInt32(0)
        // Without a closure for each byte: a launch reads megabytes, also in an app's debug build.
        table.withUnsafeBufferPointer { table in
            bytes.withUnsafeBufferPointer { bytes in
                var index = 0
                while index < bytes.count {
                    crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ bytes[index])] ^ crc >> 8
                    index += 1
                }
            }
        }
        return ~crc
    }
}
