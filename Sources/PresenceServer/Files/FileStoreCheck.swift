import PresenceCore

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
