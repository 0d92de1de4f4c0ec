import Foundation

/// A directory that one client locks for the lifetime of this object.
final class StorageDirectory: Sendable {
    private let url: URL
    private let lock: FileHandle

    /// Creates the directory, readable only by its owner, if it does not exist, and locks it.
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
        // The system releases the lock when the process ends, for whatever reason.
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw StorageError.inUse(url.path) }
    }

    /// Unlocks explicitly, because a child process shares the file until its exec, so closing it may not be enough.
    func close() { flock(lock.fileDescriptor, LOCK_UN) }

    deinit { close() }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// The id of this device, made once. It survives a sign-out, because it belongs to the device and not to a user.
    func deviceID() throws -> String {
        let file = url.appendingPathComponent("device")
        defer { keepOutOfBackups(file) }
        if let text = try? String(contentsOf: file, encoding: .utf8), PresenceClient.isValidID(text) { return text }
        let id = UUID().uuidString.lowercased()
        do {
            try Data(id.utf8).write(to: file, options: .atomic)
        } catch {
            throw StorageError.failed("write", file.path, errno)
        }
        return id
    }

    /// Otherwise a device restored from another device's backup would have the same id, and the two would replace each
    /// other.
    private func keepOutOfBackups(_ file: URL) {
        #if canImport(Darwin)
            var (file, values) = (file, URLResourceValues())
            values.isExcludedFromBackup = true
            try? file.setResourceValues(values)
        #endif
    }
}
