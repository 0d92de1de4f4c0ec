import Foundation

/// The right of one server to run a Redis of its own in a data directory, until this value is released.
///
/// The kernel keeps the lock (`flock`), so it ends with the process, in whatever way the process ends.
package final class DirectoryLock: Sendable {
    /// Open from `init` to `deinit`, owned by this object only. Not inherited by children.
    private let descriptor: Int32

    /// - Throws: ``StartFailure`` naming the process that holds the lock.
    package init(_ directory: DataDirectory) throws(StartFailure) {
        let path = directory.file("lock")
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StartFailure("\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = Self.read(descriptor)
            close(descriptor)
            throw StartFailure(
                "the data directory \(directory.path) is in use by another server"
                    + (holder.isEmpty ? "" : " (process \(holder))")
                    + ": choose another one, or let both use one Redis with --redis")
        }
        let holder = Array("\(getpid())\n".utf8)
        // Only for the message above: the lock does not depend on this text.
        _ = ftruncate(descriptor, 0)
        _ = pwrite(descriptor, holder, holder.count, 0)
        self.descriptor = descriptor
    }

    deinit {
        // Explicit, because a child that is just being started may share the open file for a moment.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// The process that has the lock of a directory; `nil` if there is none. It is read from the kernel's list, because
    /// trying to lock would turn away a server that starts at this moment.
    package static func holder(of directory: DataDirectory) -> String? {
        let descriptor = open(directory.file("lock"), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        // 1: FLOCK  ADVISORY  WRITE 4711 08:01:393229 0 EOF
        guard fstat(descriptor, &status) == 0, let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8),
            locks.split(separator: "\n").contains(where: { line in
                let words = line.split(separator: " ")
                return words.count > 5 && words[1] == "FLOCK" && words[5].hasSuffix(":\(status.st_ino)")
            })
        else { return nil }
        return read(descriptor)
    }

    private static func read(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).filter(\.isNumber)
    }
}
