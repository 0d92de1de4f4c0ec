import Glibc
import PresenceCore

/// Where pictures and other files are. What blocks is called on threads of its pool only.
protocol FileStore: Sendable {
    /// The threads that wait for it.
    var pool: WorkerPlan { get }

    /// Whether each request for a file costs something elsewhere, so that Redis is asked first whether there is one of that name.
    var isRemote: Bool { get }

    /// Keeps what is under one name. All of it is safe when it returns; after a failure, none is there, or the sweep finds it.
    /// Blocks.
    func keep(_ parts: [StoredPart], as name: StoredName) throws(FileStoreFailure)

    /// Removes all that is under a name, and is content if nothing is there. Blocks.
    func remove(_ name: StoredName) throws(FileStoreFailure)

    /// The names in one of the parts that have been there for longer than `FileSweep.grace`. Blocks.
    ///
    /// - Parameter part: The first two digits of the names, as a number.
    func names(in part: Int) throws(FileStoreFailure) -> [StoredName]

    /// What ``setMark(_:)`` has written; `nil` if nothing has, or not even a file is there. Blocks.
    func mark() throws(FileStoreFailure) -> String?

    /// Says whose files these are. Blocks.
    func setMark(_ mark: String) throws(FileStoreFailure)

    /// Whether it can be used, as far as that is known without changing anything. Blocks.
    func check() throws(FileStoreFailure)

    /// Answers a call with a file. On the call's loop.
    ///
    /// - Parameters:
    ///   - size: In bytes, if it is known and may be large: then it is fetched in pieces. `nil`: it is small.
    ///   - failed: Counts and logs that it could not be had; the call is answered already.
    func serve(
        _ file: StoredFile, of size: Int?, as content: HTTPContent, on call: HTTPCall,
        failed: @escaping (FileStoreFailure) -> Void)
}

/// One of the files under a name, before it is kept.
struct StoredPart: Sendable {
    enum Content: Sendable {
        case bytes([UInt8])
        /// As a client has sent it.
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
    /// What becomes of a job with files, off the loop; `nil` if too many wait. Nobody's connection waits for it.
    func done<Value: Sendable>(
        on shard: ShardLogic, _ job: @escaping @Sendable () throws(FileStoreFailure) -> Value
    ) async -> Result<Value, FileStoreFailure>? {
        try? await shard.work(pool) { Result(catching: job) }
    }

    /// Keeps what a call has brought, off the threads that decode, which a slow store would keep from it.
    ///
    /// - Parameter failed: Counts and logs that it could not be kept.
    func keep(
        _ parts: [StoredPart], as name: StoredName, for call: HTTPCall, failed: (FileStoreFailure) -> Void
    ) async throws(Refusal) {
        let result = try await call.work(pool) {
            Result { () throws(FileStoreFailure) in try self.keep(parts, as: name) }
        }
        if case .failure(let failure) = result {
            failed(failure)
            throw .noPlace
        }
    }

    /// Answers a call with a file whose size is not known. Names that nobody has keep no storage busy; where Redis cannot be asked,
    /// the storage is.
    ///
    /// - Parameter key: In Redis for as long as there is such a file.
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

    /// Whether these are the files of this installation; `false` if that has only now been said, by the first that asks.
    ///
    /// - Throws: also ``FileStoreFailure/foreign``.
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

/// Why a file could not be kept, read or removed, in words that may be logged.
struct FileStoreFailure: Error, Equatable, CustomStringConvertible {
    /// The sweep would take all of them for nobody's.
    static let foreign = FileStoreFailure(
        "these are the files of another installation, or this one's Redis has lost its data. If they are this one's, remove "
            + "the file \(FileSweep.markName) beside them")

    let description: String

    init(_ description: String) { self.description = description }

    /// With what the system says.
    init(_ what: String, code: Int32) { self.init("\(what): \(String(cString: strerror(code)))") }
}
