import Foundation

/// A directory that one client holds as long as this lives.
final class StorageDirectory: Sendable {
    private let url: URL
    private let lock: FileHandle

    /// Makes it if it is not there, readable by its owner alone, and locks it.
    init(_ url: URL) throws {
        self.url = url
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StorageError.failed("make", url.path, errno)
        }
        let path = url.appendingPathComponent("lock").path
        let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw StorageError.failed("open", path, errno) }
        lock = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        // The system gives it back when the process ends, however it ends.
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw StorageError.inUse(url.path) }
    }

    /// A process that is being started holds the file, too, until it becomes another program: so it is not enough to close it.
    deinit { flock(lock.fileDescriptor, LOCK_UN) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// The id that this device keeps: made once. It outlives a sign-out: it is the device's, and no user's.
    func deviceID() throws -> String {
        let file = url.appendingPathComponent("device")
        defer { keepOutOfBackups(file) }
        if let text = try? String(contentsOf: file, encoding: .utf8), PresenceID.isValid(text) { return text }
        let id = UUID().uuidString.lowercased()
        do {
            try Data(id.utf8).write(to: file, options: .atomic)
        } catch {
            throw StorageError.failed("write", file.path, errno)
        }
        return id
    }

    /// Else a device that is set up from another one's backup would have the same id, and the two would replace each other.
    private func keepOutOfBackups(_ file: URL) {
        #if canImport(Darwin)
            var (file, values) = (file, URLResourceValues())
            values.isExcludedFromBackup = true
            try? file.setResourceValues(values)
        #endif
    }
}
