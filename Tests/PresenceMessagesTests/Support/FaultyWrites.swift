import Foundation
import PresenceTesting

@testable import PresenceKit

/// A queue of writes on a disk that the test can make full or slow.
actor FaultyWrites: WriteQueue {
    private let writes = StoredWrites()
    private var mayAppend = true
    private var mayRemove = true
    private var (delay, removalDelay): (Duration?, Duration?)
    /// The clock of the disk.
    let clock = TestClock()
    /// All writes of which the append was tried.
    private(set) var tried: [QueuedWrite] = []

    func set(
        mayAppend: Bool = true, mayRemove: Bool = true, delay: Duration? = nil, removalDelay: Duration? = nil
    ) {
        (self.mayAppend, self.mayRemove) = (mayAppend, mayRemove)
        (self.delay, self.removalDelay) = (delay, removalDelay)
    }

    private func check(_ isAllowed: Bool) throws {
        if !isAllowed { throw StorageError.failed("write", "the test's disk", ENOSPC) }
    }

    func load() async -> (owner: String?, writes: [QueuedWrite]) { await writes.load() }
    func setOwner(_ user: String) async throws { try await writes.setOwner(user) }
    func append(_ write: QueuedWrite) async throws {
        tried.append(write)
        if let delay { try await clock.sleep(for: delay) }
        try check(mayAppend)
        try await writes.append(write)
    }
    func remove(_ ids: [String]) async throws {
        if let removalDelay { try await clock.sleep(for: removalDelay) }
        try check(mayRemove)
        try await writes.remove(ids)
    }
    func removeAll() async throws { try await writes.removeAll() }
}
