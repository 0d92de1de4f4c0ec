import Foundation

/// The client's data on the device: the last known data of users, conversations with their newest messages, pending
/// writes, and the device's id.
///
/// A sign-out removes all but the device's id, so the next user to sign in finds none of them.
public struct Storage: Sendable {
    /// The last known data of users.
    package let cache: PresenceCache
    /// The pending writes.
    package let writes: any WriteQueue
    /// The last known conversations and messages.
    package let history: RecordStore
    /// The id of this device, if it is stored; without one, each client makes its own.
    package let deviceID: String?
    /// Faults that were found when the storage was opened, for the log.
    let problems: [String]
    /// Lets another client use the storage; later writes fail.
    let close: @Sendable () async -> Void

    package init(
        cache: PresenceCache, writes: any WriteQueue, history: RecordStore = RecordStore(), deviceID: String? = nil,
        problems: [String] = [], close: @escaping @Sendable () async -> Void = {}
    ) {
        (self.cache, self.writes, self.history, self.deviceID) = (cache, writes, history, deviceID)
        (self.problems, self.close) = (problems, close)
    }

    /// A storage in memory, for the life of the process.
    public static func memory() -> Storage {
        Storage(cache: PresenceCache(), writes: StoredWrites())
    }

    /// A storage in a directory, which survives launches and crashes. The directory is created if it does not exist.
    ///
    /// Only one client of one process can use a directory at a time, until ``PresenceClient/close()`` or the end of the
    /// process. Not for the folder of an app group: iOS ends an app that holds a lock there when it is suspended.
    ///
    /// - Parameters:
    ///   - people: the maximum number of cached users; the least recently updated are evicted first.
    ///   - writes: the maximum number of pending writes.
    /// - Throws: ``PresenceError``: `storageInUse` if another client uses the directory; `storageFailed` if it cannot be
    ///   read or created, or if a later version of this library wrote it.
    public static func directory(_ url: URL, people: Int = 10_000, writes: Int = 10_000) throws -> Storage {
        do {
            return try open(url, people: people, writes: writes)
        } catch let error as StorageError {
            throw PresenceError(error)
        }
    }

    private static func open(_ url: URL, people: Int, writes: Int) throws -> Storage {
        let directory = try StorageDirectory(url)
        var problems: [String] = []
        let cache = try PresenceCache(directory, capacity: people, problems: &problems)
        let queue = try StoredWrites(directory, capacity: writes, problems: &problems)
        let history = try RecordStore(directory, problems: &problems)
        let device = try directory.deviceID()
        return Storage(cache: cache, writes: queue, history: history, deviceID: device, problems: problems) {
            await cache.close()
            await queue.close()
            await history.close()
            directory.close()
        }
    }

    /// ``directory(_:people:writes:)`` at the system's place for an app's data: `Application Support` on Apple
    /// platforms, `$XDG_STATE_HOME` or `~/.local/state` elsewhere.
    ///
    /// - Parameter name: the name of the folder. An app that uses several servers needs one for each.
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
