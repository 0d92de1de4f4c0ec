import Foundation

/// What a client keeps on the device: people as they were last known, writes that wait for a connection, and the device's
/// id.
///
/// A sign-out clears people and writes; another user's sign-in finds nothing of the one before.
public struct Storage: Sendable {
    /// People as they were last known.
    public let cache: any PresenceCache
    /// What waits for a connection.
    public let writes: any WriteQueue
    /// The id of this device, if one is kept; without one each client makes one for itself.
    public let deviceID: String?
    /// What was found damaged when it was opened, for the log.
    let problems: [String]

    /// A storage of parts of one's own.
    public init(cache: any PresenceCache, writes: any WriteQueue, deviceID: String? = nil) {
        self.init(cache: cache, writes: writes, deviceID: deviceID, problems: [])
    }

    private init(cache: any PresenceCache, writes: any WriteQueue, deviceID: String?, problems: [String]) {
        self.cache = cache
        self.writes = writes
        self.deviceID = deviceID
        self.problems = problems
    }

    /// Keeps everything as long as the process lives.
    public static func memory() -> Storage {
        Storage(cache: MemoryCache(), writes: MemoryWriteQueue())
    }

    /// Keeps everything in a directory, over launches and crashes. It is made if it is not there.
    ///
    /// One client of one process may use a directory at a time.
    ///
    /// - Parameters:
    ///   - people: how many people are kept; those heard of longest ago go first.
    ///   - writes: how many writes may wait.
    /// - Throws: ``StorageError``: it cannot be read or made, another client uses it, or a later version of this library
    ///   wrote it.
    public static func directory(_ url: URL, people: Int = 10_000, writes: Int = 10_000) throws -> Storage {
        let directory = try StorageDirectory(url)
        var problems: [String] = []
        let cache = try FileCache(directory, capacity: people, problems: &problems)
        let queue = try FileWriteQueue(directory, capacity: writes, problems: &problems)
        return Storage(cache: cache, writes: queue, deviceID: try directory.deviceID(), problems: problems)
    }

    /// ``directory(_:people:writes:)`` where the system wants an app's data: `Application Support` on Apple's systems,
    /// `$XDG_STATE_HOME` or `~/.local/state` elsewhere.
    ///
    /// - Parameter name: the folder in there; one for each server, if the app knows several.
    public static func standard(_ name: String = "presence") throws -> Storage {
        #if canImport(Darwin)
            let parent = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        #else
            let environment = ProcessInfo.processInfo.environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            let parent =
                environment.map { URL(fileURLWithPath: $0, isDirectory: true) }
                ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/state")
        #endif
        return try directory(parent.appendingPathComponent(name, isDirectory: true))
    }
}
