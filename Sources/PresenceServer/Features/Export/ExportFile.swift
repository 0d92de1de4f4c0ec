import Glibc
import Installation
import PresenceCore

/// A tar archive (POSIX, ustar) in a file of the data directory. The file loses its name at once, so nothing of it stays,
/// whatever ends. All methods block.
// @unchecked: only one job at a time uses it.
final class ExportFile: @unchecked Sendable {
    /// In bytes.
    private(set) var size = 0
    private let directory: String
    private let descriptor: Int32
    /// The entry that is being written.
    private var entry = (name: "", start: 0)

    private static let block = 512

    init(in directory: String) throws(FileStoreFailure) {
        self.directory = directory
        let path = "\(directory)/export.\(getpid()).\(UInt64.random(in: .min ... .max))"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileStoreFailure("an export cannot be written", code: errno) }
        unlink(path)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// - Parameter name: At most 100 bytes.
    func begin(_ name: String) throws(FileStoreFailure) {
        entry = (name, size)
        try append([UInt8](repeating: 0, count: Self.block))
    }

    func append(_ bytes: [UInt8]) throws(FileStoreFailure) {
        guard DiskRoom(of: directory)?.hasRoom(for: bytes.count) != false else {
            throw FileStoreFailure(FileFailure.noRoom)
        }
        try write(bytes, at: size)
        size += bytes.count
    }

    func end(at seconds: Int64) throws(FileStoreFailure) {
        let length = size - entry.start - Self.block
        try write(Self.header(entry.name, length, seconds), at: entry.start)
        let rest = length % Self.block
        if rest > 0 { try append([UInt8](repeating: 0, count: Self.block - rest)) }
    }

    /// Marks the end of the archive.
    func finish() throws(FileStoreFailure) { try append([UInt8](repeating: 0, count: 2 * Self.block)) }

    func read(_ range: Range<Int>) throws(FileStoreFailure) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < range.count {
            let count = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + done, range.count - done, off_t(range.lowerBound + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileStoreFailure("an export cannot be read", code: errno) }
            done += count
        }
        return bytes
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(FileStoreFailure) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress! + done, bytes.count - done, off_t(offset + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileStoreFailure("an export cannot be written", code: errno) }
            done += count
        }
    }

    static func header(_ name: String, _ length: Int, _ seconds: Int64) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: block)
        func put(_ text: String, at place: Int) {
            bytes.replaceSubrange(place..<place + text.utf8.count, with: text.utf8)
        }
        func octal(_ number: some BinaryInteger, _ digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(name, at: 0)
        put(octal(0o600, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        put(octal(length, 11), at: 124)
        put(octal(max(0, seconds), 11), at: 136)
        // The sum is computed with spaces in its own place.
        put("        0", at: 148)
        put("ustar\u{0}00", at: 257)
        put(octal(bytes.reduce(0) { $0 + Int($1) }, 6) + "\u{0} ", at: 148)
        return bytes
    }
}
