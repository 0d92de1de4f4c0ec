import PresenceCore

/// That files cannot be kept shows at the start, and not with the first upload. Nothing else waits for it.
final class FileStoreCheck {
    private var isDone = false

    /// Looks at the store, off the loop, the first time that a process's first shard serves.
    func once(_ store: any FileStore, on shard: ShardLogic, failed: @escaping (FileStoreFailure) -> Void) {
        guard shard.place.number == 0, !isDone else { return }
        isDone = true
        shard.tasks.run {
            let result = await store.done(on: shard) { () throws(FileStoreFailure) in try store.check() }
            if case .failure(let failure)? = result { failed(failure) }
        }
    }
}
