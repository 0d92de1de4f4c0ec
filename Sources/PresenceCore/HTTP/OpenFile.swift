import Glibc

/// A file that is open for reading. All methods block; properties do not.
final class OpenFile: Sendable {
    let size: Int
    /// In seconds since 1970.
    let modified: Int64
    /// Changes with the content: size, and modification time in nanoseconds.
    let tag: String
    /// Owned; closed in `deinit`.
    private let descriptor: Int32

    /// - Throws: ``FileFailure`` if it cannot be opened, or is not a regular file.
    init(_ path: String) throws(FileFailure) {
        // (O_NONBLOCK: otherwise a named pipe would block the thread until it has a writer.)
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            let failure = FileFailure("cannot open a file")
            (size, modified, tag) = (0, 0, "")
            throw failure
        }
        size = Int(status.st_size)
        modified = Int64(status.st_mtim.tv_sec)
        let nanoseconds = modified &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        tag = String(size, radix: 16) + "-" + String(nanoseconds, radix: 16)
        guard status.st_mode & S_IFMT == S_IFREG else {
            errno = ENOENT
            throw FileFailure("not a regular file")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func read(at offset: Int, count: Int) throws(FileFailure) -> [UInt8] {
        try FileFailure.reading(descriptor, at: offset, count: count)
    }
}
