import Foundation

/// Files whose reading holds up other work: a certificate, a key, a set of keys.
public enum PlainFile {
    /// No key or certificate is larger. The limit catches a database named by mistake.
    package static let longest = 4 * 1_024 * 1_024

    /// Returns the content of a file.
    ///
    /// - Throws: a sentence on why it cannot be read. Anything but a regular file is rejected unread: a pipe or a
    ///   terminal might block forever.
    package static func read(_ path: String) throws(StartFailure) -> Data {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw StartFailure("\(path) cannot be read: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StartFailure("\(path) is no regular file")
        }
        var data = Data()
        var part = [UInt8](repeating: 0, count: 65_536)
        while data.count <= longest {
            let count = Foundation.read(descriptor, &part, part.count)
            if count == 0 { return data }
            guard count > 0 || errno == EINTR else {
                throw StartFailure("\(path) cannot be read: \(String(cString: strerror(errno)))")
            }
            if count > 0 { data.append(contentsOf: part[..<count]) }
        }
        throw StartFailure("\(path) is longer than \(longest) bytes")
    }

    /// Whether other users of this machine may read it or write to it.
    package static func isExposed(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & (S_IROTH | S_IWOTH) != 0
    }

    /// Runs work that a disk or a network may block, on a thread of its own, so that only its caller waits. Swift has
    /// only as many task threads as cores, and a thread that hangs would be missing for other tasks.
    public static func apart<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async { continuation.resume(returning: work()) }
        }
    }
}
