import Foundation

/// The directory of an installation: its secret and, if it has a Redis of its own, the data of that Redis.
///
///     secret       signs the installation's own tokens; mode 0600
///     lock         locked while a server with a Redis of its own runs here; contains that server's process id
///     redis.log, redis.pid, redis.sock, appendonlydir/    of that Redis
///
/// With a configured Redis several servers may share the directory: they use only the secret.
public struct DataDirectory: Sendable, Equatable {
    /// The absolute path, without symbolic links.
    public let path: String

    /// Opens the directory, and creates it with mode 0700 if there is none.
    ///
    /// - Throws: ``StartFailure`` if it cannot be created or is not a directory.
    public init(_ path: String) throws(StartFailure) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartFailure("the data directory \(path) cannot be created: \(Self.reason(error))")
        }
        guard let resolved = realpath(path, nil) else {
            throw StartFailure("the data directory \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { free(resolved) }
        self.path = String(cString: resolved)
    }

    /// The default data directory: `/var/lib/presence` for root, else `presence` in the user's own data directory
    /// (`XDG_DATA_HOME`, by default `~/.local/share`).
    public static func standardPath(environment: [String: String] = ProcessInfo.processInfo.environment) -> String {
        if geteuid() == 0 { return "/var/lib/presence" }
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/presence" }
        return (environment["HOME"] ?? NSHomeDirectory()) + "/.local/share/presence"
    }

    /// Whether other users of this machine can read the directory's files or add files to it. False if a parent folder
    /// keeps them out.
    public var isExposed: Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & (S_IXOTH | S_IWOTH) != 0 else { return false }
        var above = path[...]
        while let slash = above.lastIndex(of: "/"), slash != above.startIndex {
            above = above[..<slash]
            guard stat(String(above), &status) == 0, status.st_mode & S_IXOTH != 0 else { return false }
        }
        return true
    }

    package func file(_ name: String) -> String { path + "/" + name }

    private static func reason(_ error: any Error) -> String {
        ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError)
            .map { String(cString: strerror(Int32($0.code))) } ?? error.localizedDescription
    }
}
