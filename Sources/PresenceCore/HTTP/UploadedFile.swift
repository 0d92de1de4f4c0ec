import Glibc
import Installation

/// A client's upload: a file without a name in the data directory. It is deleted with its last reference, and with the
/// process, unless it was kept.
///
/// Everything here except `size` blocks and must run in a job (``HTTPCall/work(_:_:then:)`` with ``WorkerPlan/files``).
package final class UploadedFile: Sendable {
    /// In bytes: the length that the client announced, which was received completely.
    package let size: Int
    /// Owned; closed in `deinit`. Written by one job at a time, and read after all writes.
    private let descriptor: Int32

    /// Creates an empty file with `size` bytes reserved on the disk.
    ///
    /// - Throws: ``FileFailure``, for instance when the disk is full.
    init(in directory: String, size: Int) throws(FileFailure) {
        self.size = size
        guard DiskRoom(of: directory)?.hasRoom(for: size) != false else {
            descriptor = -1
            throw .noRoom
        }
        // O_TMPFILE, a macro that is not imported: its own bit, and O_DIRECTORY.
        descriptor = open(directory, 0o20000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure("cannot create a file in the data directory") }
        // A full disk is thus detected before the body.
        let code = size > 0 ? posix_fallocate(descriptor, 0, off_t(size)) : 0
        if [ENOSPC, EDQUOT, EFBIG].contains(code) {
            throw FileFailure("not enough space for an upload in the data directory", code: code)
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        let descriptor = descriptor
        // Closing frees its space on the disk, which takes time: not on a loop.
        Task.detached(priority: .background) { close(descriptor) }
    }

    /// Writes all of `bytes`.
    func write(_ bytes: [UInt8], at offset: Int) throws(FileFailure) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileFailure("cannot write an upload") }
            done += count
        }
    }

    /// Reads up to `count` bytes from `offset`; fewer at the end, none beyond it. Blocks.
    ///
    /// - Throws: ``FileFailure``.
    package func read(at offset: Int, count: Int) throws(FileFailure) -> [UInt8] {
        try FileFailure.reading(descriptor, at: offset, count: count)
    }

    /// Calls `body` with the descriptor, which is open for reading and writing during the call; its offset is 0 unless
    /// `body` moved it.
    package func withDescriptor<Value>(_ body: (Int32) -> Value) -> Value { body(descriptor) }

    /// Gives the file a name, so that it persists, after syncing it to the disk. Blocks.
    ///
    /// - Parameters:
    ///   - path: Absolute, on the file system of the data directory.
    ///   - replacing: Whether it atomically replaces a file of that name.
    /// - Throws: ``FileFailure``; with `isExisting` if there is a file of this name, which is not changed.
    package func store(at path: String, replacing: Bool = false) throws(FileFailure) {
        guard fsync(descriptor) == 0 else { throw FileFailure("cannot write an upload") }
        // A link cannot replace a file, so it gets another name first and is renamed.
        let first = replacing ? "\(path).\(UInt64.random(in: .min ... .max))" : path
        guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, first, AT_SYMLINK_FOLLOW) == 0 else {
            throw FileFailure("cannot store an upload")
        }
        if replacing, rename(first, path) != 0 {
            let failure = FileFailure("cannot store an upload")
            unlink(first)
            throw failure
        }
        // The directory with the name is synced separately.
        let end = path.lastIndex(of: "/") ?? path.startIndex
        let directory = open(String(path[..<end]) + "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw FileFailure("cannot store an upload") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw FileFailure("cannot store an upload") }
    }
}

/// Why a file cannot be used: the failed step, and the system's error. It has no path.
package struct FileFailure: Error, CustomStringConvertible {
    package let code: Int32
    private let step: String

    /// - Parameter code: The system's error, as in `errno`.
    init(_ step: String, code: Int32 = errno) {
        self.code = code
        self.step = step
    }

    /// The rest of the disk is reserved.
    package static let noRoom = FileFailure("the rest of the disk is reserved for Redis", code: ENOSPC)

    /// The disk is full, or the rest of it is reserved.
    package var isForRoom: Bool { [ENOSPC, EDQUOT].contains(code) }
    /// There is no such file.
    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    package var description: String { "\(step): \(String(cString: strerror(code)))" }

    static func reading(_ descriptor: Int32, at offset: Int, count: Int) throws(FileFailure) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, count)) { room, filled in
            while filled < count {
                let came = pread(descriptor, room.baseAddress! + filled, count - filled, off_t(offset + filled))
                if came < 0, errno == EINTR { continue }
                failed = came < 0
                guard came > 0 else { return }
                filled += came
            }
        }
        guard !failed else { throw FileFailure("cannot read a file") }
        return bytes
    }
}
