import Foundation

/// An append-only file of records, each with its length and a checksum, that survives a kill at any moment: what was
/// appended is there after it, and of a record that was being appended nothing.
///
/// ```text
///   file   = magic (8 bytes: "PRESENCE"), format (4), record…
///   record = length of the payload (4), CRC-32 of the payload (4), payload          numbers are little-endian
/// ```
///
/// Reading ends at the first record that is not whole; what follows it is cut off. Rewriting makes a new file and renames
/// it over the old one.
///
/// It is confined to its owner: an actor.
struct Journal {
    private let path: String
    private let descriptor: FileHandle
    private(set) var size: Int

    private static let magic = Array("PRESENCE".utf8)
    private static let headerSize = 12
    /// No record of ours comes near.
    private static let longestRecord = 1 << 20

    /// Opens a file, or makes it, and reads its records.
    ///
    /// - Throws: ``StorageError``. A file that is none of ours, or damaged in its header, is replaced by an empty one.
    init(path: String, format: UInt32, records: inout [[UInt8]]) throws {
        self.path = path
        let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw StorageError.failed("open", path, errno) }
        descriptor = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        let bytes = [UInt8]((try? descriptor.readToEnd()) ?? Data())
        if bytes.count >= Self.headerSize, Array(bytes[..<8]) == Self.magic {
            let found = UInt32(littleEndian: bytes, at: 8)
            guard found <= format else { throw StorageError.laterVersion(path, Int(found)) }
            size = Self.read(bytes, into: &records)
        } else {
            size = 0
        }
        if size == 0 {
            try truncate(to: 0)
            try append(Self.magic + format.littleEndianBytes)
        } else if size < bytes.count {
            try truncate(to: size)
        }
    }

    /// The end of the last whole record.
    private static func read(_ bytes: [UInt8], into records: inout [[UInt8]]) -> Int {
        var position = headerSize
        while bytes.count - position >= 8 {
            let length = Int(UInt32(littleEndian: bytes, at: position))
            let begin = position + 8
            guard length <= longestRecord, bytes.count - begin >= length else { break }
            let payload = Array(bytes[begin..<begin + length])
            guard UInt32(littleEndian: bytes, at: position + 4) == CRC32.checksum(payload) else { break }
            records.append(payload)
            position = begin + length
        }
        return position
    }

    /// Appends records in one write. With `isDurable` they outlive a power cut too, not only the process.
    mutating func append(_ payloads: [[UInt8]], isDurable: Bool) throws {
        let former = size
        do {
            try append(payloads.flatMap(Self.record))
            if isDurable, fsync(descriptor.fileDescriptor) != 0 { throw StorageError.failed("fsync", path, errno) }
        } catch {
            // Half a record would hide those after it.
            try? truncate(to: former)
            throw error
        }
    }

    /// Replaces all records.
    mutating func rewrite(_ payloads: [[UInt8]], format: UInt32) throws {
        let fresh = path + ".new"
        unlink(fresh)
        var records: [[UInt8]] = []
        var journal = try Journal(path: fresh, format: format, records: &records)
        try journal.append(payloads, isDurable: true)
        guard rename(fresh, path) == 0 else { throw StorageError.failed("rename", fresh, errno) }
        self = Journal(path: path, journal)
    }

    private init(path: String, _ other: Journal) {
        self.path = path
        descriptor = other.descriptor
        size = other.size
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
        ~bytes.reduce(~0) { crc, byte in table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ crc >> 8 }
    }
}
