import WebSockets
import Workers

/// A place in a pool's queue for a job that is still to come. Without one it is free again when nobody holds it any more.
///
/// So a call is refused before it does anything, and not after it has done what a refusal would have to undo. An address has a share
/// of the places until its jobs are done.
package final class KeptPlace {
    private let pool: WorkerPlan
    private let threads: any WorkerThreads
    private let address: AddressBlock
    private var isKept = false

    /// - Parameter address: Whose share it is taken from; `.none`: from nobody's.
    init(in pool: WorkerPlan, of threads: any WorkerThreads, for address: AddressBlock) throws(PlaceRefusal) {
        guard address == .none || threads.places(of: pool).take(1, for: address) else { throw .addressHasShare }
        self.pool = pool
        self.threads = threads
        self.address = address
        do throws(WorkRefusal) { try threads.keepPlace(in: pool) } catch { throw .poolIsFull(error) }
        isKept = true
    }

    deinit {
        if isKept { threads.freePlace(in: pool) }
        if address != .none { threads.places(of: pool).give(1, of: address) }
    }

    /// A job is there.
    func take(for pool: WorkerPlan) {
        precondition(self.pool == pool && isKept, "a place of the pool \(self.pool.name) is taken once, and for it")
        isKept = false
    }
}

enum PlaceRefusal: Error {
    case poolIsFull(WorkRefusal)
    case addressHasShare
}
