import Foundation

/// Stores the session in a file that only its owner can read, for systems without a keychain.
///
/// A new session is written to a second file, forced to disk, and renamed over the old one. After a kill or a power cut
/// at any moment, either the old or the new session is there, complete. The file is not encrypted, and only one process
/// may write it.
package struct FileTokenStore: TokenStore {
    private let path: String

    /// - Parameter url: the file. Its folder is created, readable only by its owner, if it does not exist.
    package init(_ url: URL) {
        path = url.path
    }

    /// A file in the user's state folder: `$XDG_STATE_HOME` or `~/.local/state`.
    ///
    /// - Parameter name: the name of the folder. An app that uses several servers needs a folder for each.
    package static func standard(_ name: String = "presence") -> FileTokenStore {
        let environment = ProcessInfo.processInfo.environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
        let parent =
            environment.map { URL(fileURLWithPath: $0, isDirectory: true) }
            ?? URL(fileURLWithPath: NSHomeDirectory()).appendingPathComponent(".local/state")
        return FileTokenStore(parent.appendingPathComponent(name).appendingPathComponent("session"))
    }

    package func load() throws -> StoredSession? {
        guard let data = try read(path) else { return nil }
        do {
            return try StoredSession(encoded: data)
        } catch {
            // The next sign-in writes a new file; this one is kept for analysis.
            let aside = "\(path).\(error.rawValue)"
            guard rename(path, aside) == 0 else { throw failure("rename") }
            try force(folder)
            return nil
        }
    }

    package func save(_ session: StoredSession) throws { try write(try session.encoded(), to: path) }

    package func clear() throws {
        for each in [path, path + ".damaged", path + ".later"] {
            guard unlink(each) == 0 || errno == ENOENT else { throw failure("remove") }
        }
        try force(folder)
    }

    // MARK: Farewells

    private var farewells: String { path + ".farewells" }

    package func loadFarewells() throws -> [String] {
        try read(farewells).flatMap { try? JSONDecoder().decode([String].self, from: $0) } ?? []
    }

    package func saveFarewells(_ tokens: [String]) throws {
        guard tokens.isEmpty else { return try write(try JSONEncoder().encode(tokens), to: farewells) }
        guard unlink(farewells) == 0 || errno == ENOENT else { throw failure("remove") }
    }

    // MARK: Files

    private var folder: URL { URL(fileURLWithPath: path).deletingLastPathComponent() }

    /// `nil` if the file does not exist.
    private func read(_ path: String) throws -> Data? {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("open")
        }
        let file = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        return try file.readToEnd() ?? Data()
    }

    /// Replaces a file atomically.
    private func write(_ data: Data, to path: String) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let fresh = path + ".new"
        // Removes a file left by an earlier process, which others may have open.
        unlink(fresh)
        let number = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw failure("open") }
        let file = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        do {
            try file.write(contentsOf: data)
            guard fsync(number) == 0 else { throw failure("fsync") }
            guard rename(fresh, path) == 0 else { throw failure("rename") }
        } catch {
            unlink(fresh)
            throw error
        }
        try force(folder)
    }

    /// A rename survives a power cut only once the folder is on the disk.
    private func force(_ folder: URL) throws {
        let number = open(folder.path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            if errno == ENOENT { return }
            throw failure("open")
        }
        defer { close(number) }
        guard fsync(number) == 0 else { throw failure("fsync") }
    }

    private func failure(_ call: String) -> PresenceError {
        PresenceError.account(.storageFailed, "\(call) \(path): \(String(cString: strerror(errno)))")
    }
}
