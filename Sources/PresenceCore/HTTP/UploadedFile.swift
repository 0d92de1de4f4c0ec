import Glibc
import Installation

/// What a client has uploaded: a file without a name in the data directory. It is gone with its last reference, and with the
/// process, unless it was kept.
///
/// Everything here but `size` blocks: it belongs into a job (``HTTPCall/work(_:_:then:)`` with ``WorkerPlan/files``).
package final class UploadedFile: Sendable {
    /// Bytes: the length that the client announced, all of which has come.
    package let size: Int
    /// Owned; closed in `deinit`. Written by one job at a time, and read once all is written.
    private let descriptor: Int32

    /// Makes an empty one with room on the disk for `size` bytes.
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
        guard descriptor >= 0 else { throw FileFailure("no file can be made in the data directory") }
        // So that a full disk shows before the body.
        let code = size > 0 ? posix_fallocate(descriptor, 0, off_t(size)) : 0
        if [ENOSPC, EDQUOT, EFBIG].contains(code) {
            throw FileFailure("the data directory has no room for an upload", code: code)
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        let descriptor = descriptor
        // What it had on the disk is freed with it, which takes its time: not on a loop.
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
            guard count > 0 else { throw FileFailure("an upload cannot be written") }
            done += count
        }
    }

    /// Up to `count` bytes from `offset` on; fewer at the end, none behind it. Blocks.
    ///
    /// - Throws: ``FileFailure``.
    package func read(at offset: Int, count: Int) throws(FileFailure) -> [UInt8] {
        try FileFailure.reading(descriptor, at: offset, count: count)
    }

    /// Calls `body` with the descriptor, which is open for reading and writing until then; its offset is 0 unless `body` moved it.
    package func withDescriptor<Value>(_ body: (Int32) -> Value) -> Value { body(descriptor) }

    /// Gives it a name, by which it stays, once it is safe on the disk. Blocks.
    ///
    /// - Parameters:
    ///   - path: absolute, on the file system of the data directory.
    ///   - replacing: Whether it takes the place of a file of that name, in one step.
    /// - Throws: ``FileFailure``; its `isExisting` tells that there is a file of this name, which stays as it is.
    package func keep(at path: String, replacing: Bool = false) throws(FileFailure) {
        guard fsync(descriptor) == 0 else { throw FileFailure("an upload cannot be written") }
        // A link replaces nothing, so one that shall do so has another name at first.
        let first = replacing ? "\(path).\(UInt64.random(in: .min ... .max))" : path
        guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, first, AT_SYMLINK_FOLLOW) == 0 else {
            throw FileFailure("an upload cannot be kept")
        }
        if replacing, rename(first, path) != 0 {
            let failure = FileFailure("an upload cannot be kept")
            unlink(first)
            throw failure
        }
        // The name is in the directory, which has a place on the disk of its own.
        let end = path.lastIndex(of: "/") ?? path.startIndex
        let directory = open(String(path[..<end]) + "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw FileFailure("an upload cannot be kept") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw FileFailure("an upload cannot be kept") }
    }
}

/// Why a file cannot be used: what failed, and what the system said. It names no path.
package struct FileFailure: Error, CustomStringConvertible {
    package let code: Int32
    private let step: String

    /// - Parameter code: of the system, as `errno` has it.
    init(_ step: String, code: Int32 = errno) {
        self.code = code
        self.step = step
    }

    /// What is left of the disk is kept for other things.
    package static let noRoom = FileFailure("the disk has no more room than is kept free for Redis", code: ENOSPC)

    /// The disk is full, or what is left of it is kept.
    package var isForRoom: Bool { [ENOSPC, EDQUOT].contains(code) }
    /// There is no such file.
    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }
    /// There is a file of that name.
    package var isExisting: Bool { code == EEXIST }

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
        guard !failed else { throw FileFailure("a file cannot be read") }
        return bytes
    }
}
