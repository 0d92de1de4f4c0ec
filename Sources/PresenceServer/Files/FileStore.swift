import Glibc
import PresenceCore

/// Stores pictures and other files. Blocking functions must be called only on threads of `pool`.
protocol FileStore: Sendable {
    /// The threads on which blocking functions run.
    var pool: WorkerPlan { get }

    /// Whether each request for a file causes a remote call. If so, Redis is first asked whether the file exists.
    var isRemote: Bool { get }

    /// Stores all files of one name. On return all of them are durable; after a failure, none is left, or the sweep removes the
    /// rest. Blocks.
    func store(_ parts: [StoredPart], as name: StoredName) throws(FileStoreFailure)

    /// Removes all files of a name; succeeds if there are none. Blocks.
    func remove(_ name: StoredName) throws(FileStoreFailure)

    /// Returns the names in one part whose files are older than `FileSweep.grace`. Blocks.
    ///
    /// - Parameter part: The first two digits of the names, as a number.
    func names(in part: Int) throws(FileStoreFailure) -> [StoredName]

    /// The mark written by ``setMark(_:)``; `nil` if there is none. Blocks.
    func mark() throws(FileStoreFailure) -> String?

    /// Marks the files as those of an installation. Blocks.
    func setMark(_ mark: String) throws(FileStoreFailure)

    /// Checks that the store can be used, as far as possible without changing anything. Blocks.
    func check() throws(FileStoreFailure)

    /// Reads a whole file; `nil` if it does not exist. Blocks.
    func read(_ file: StoredFile) throws(FileStoreFailure) -> [UInt8]?

    /// Answers a call with a file. To be called on the call's loop.
    ///
    /// - Parameters:
    ///   - size: In bytes, if it is known and may be large; the file is then fetched in pieces. `nil` for a small file.
    ///   - failed: Counts and logs a failure; the call has already been answered.
    func serve(
        _ file: StoredFile, of size: Int?, as content: HTTPContent, on call: HTTPCall,
        failed: @escaping (FileStoreFailure) -> Void)
}

/// One of the files of a name, before it is stored.
struct StoredPart: Sendable {
    enum Content: Sendable {
        case bytes([UInt8])
        /// A client's upload, unchanged.
        case upload(UploadedFile)
    }

    let kind: StoredFile.Kind
    let content: Content

    /// In bytes.
    var size: Int {
        switch content {
        case .bytes(let bytes): bytes.count
        case .upload(let file): file.size
        }
    }
}

extension FileStore {
    /// Runs a job off the loop; `nil` if too many are queued. The job continues if the client disconnects.
    func done<Value: Sendable>(
        on shard: ShardLogic, _ job: @escaping @Sendable () throws(FileStoreFailure) -> Value
    ) async -> Result<Value, FileStoreFailure>? {
        try? await shard.work(pool) { Result(catching: job) }
    }

    /// Stores the files of a call, not on the threads that decode pictures, because slow storage would block those.
    ///
    /// - Parameter failed: Counts and logs a failure.
    func store(
        _ parts: [StoredPart], as name: StoredName, for call: HTTPCall, failed: (FileStoreFailure) -> Void
    ) async throws(Refusal) {
        let result = try await call.work(pool) {
            Result { () throws(FileStoreFailure) in try self.store(parts, as: name) }
        }
        if case .failure(let failure) = result {
            failed(failure)
            throw .noPlace
        }
    }

    /// Answers a call with a file of unknown size. Requests for unknown names do not reach the storage, unless Redis is
    /// unreachable.
    ///
    /// - Parameter key: The key in Redis that exists as long as the file.
    func serve(
        _ file: StoredFile, known key: String, as content: HTTPContent, on call: HTTPCall, shard: ShardLogic,
        failed: @escaping (FileStoreFailure) -> Void
    ) {
        guard isRemote else { return serve(file, of: nil, as: content, on: call, failed: failed) }
        shard.store.command(["EXISTS", key], lane: .commands) { result in
            if case .success(let value) = result, value.int == 0 {
                return call.refuse(404, .notFound, "there is no such file")
            }
            serve(file, of: nil, as: content, on: call, failed: failed)
        }
    }

    /// Whether the files belong to this installation; `false` if they had no mark and this call has set it.
    ///
    /// - Throws: ``FileStoreFailure/foreign`` for another installation's files, or the failure of the storage.
    func isOurs(_ installation: String) throws(FileStoreFailure) -> Bool {
        guard let held = try mark() else {
            try setMark(installation)
            return false
        }
        guard held == installation else { throw .foreign }
        return true
    }
}

extension Refusal {
    static let noPlace = Refusal(.unavailable, "the server has no place for this now", retryAfter: 60_000)
}

/// The reason why a file could not be stored, read or removed, in words that may be logged.
struct FileStoreFailure: Error, Equatable, CustomStringConvertible {
    /// The sweep would treat all foreign files as unreferenced.
    static let foreign = FileStoreFailure(
        "these are the files of another installation, or this one's Redis has lost its data. If they are this one's, remove "
            + "the file \(FileSweep.markName) beside them")

    let description: String

    init(_ description: String) { self.description = description }

    /// Appends the system's error message.
    init(_ what: String, code: Int32) { self.init("\(what): \(String(cString: strerror(code)))") }
}

/// Checks at the start that files can be stored, so that an error does not show only with the first upload. Nothing waits for
/// the check.
final class FileStoreCheck {
    private var isDone = false

    /// Checks the store off the loop, once, when the first shard of a process becomes live.
    func once(_ store: any FileStore, on shard: ShardLogic, failed: @escaping (FileStoreFailure) -> Void) {
        guard shard.place.number == 0, !isDone else { return }
        isDone = true
        shard.tasks.run {
            let result = await store.done(on: shard) { () throws(FileStoreFailure) in try store.check() }
            if case .failure(let failure)? = result { failed(failure) }
        }
    }
}
