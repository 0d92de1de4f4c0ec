import Foundation

@testable import PresenceKit

/// A queue of writes on a disk that the test can make full.
actor FaultyWrites: WriteQueue {
    private let writes = MemoryWriteQueue()
    private var mayAppend = true
    private var mayRemove = true

    func set(mayAppend: Bool = true, mayRemove: Bool = true) {
        (self.mayAppend, self.mayRemove) = (mayAppend, mayRemove)
    }

    private func check(_ isAllowed: Bool) throws {
        if !isAllowed { throw StorageError.failed("write", "the test's disk", ENOSPC) }
    }

    func load() async -> (owner: String?, writes: [QueuedWrite]) { await writes.load() }
    func setOwner(_ user: String) async { await writes.setOwner(user) }
    func append(_ write: QueuedWrite) async throws {
        try check(mayAppend)
        try await writes.append(write)
    }
    func remove(_ ids: [String]) async throws {
        try check(mayRemove)
        await writes.remove(ids)
    }
    func removeAll() async { await writes.removeAll() }
}
