import PresenceCore

/// That files cannot be kept shows at the start, and not with the first upload. Nothing else waits for it.
final class FileStoreCheck {
    private var isDone = false

    /// Looks at the store, off the loop, the first time that a process's first shard serves.
    func once(_ store: any FileStore, on shard: ShardLogic, failed: @escaping (FileStoreFailure) -> Void) {
        guard shard.place.number == 0, !isDone else { return }
        isDone = true
        try? shard.jobs.run(in: store.pool) {
            Result { () throws(FileStoreFailure) in try store.check() }
        } then: { result in
            if case .success(.failure(let failure)) = result { failed(failure) }
        }
    }
}
