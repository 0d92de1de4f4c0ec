import WebSockets
import Workers

/// A place in a pool's queue for a future job. If the job never comes, the place is freed with the last reference.
///
/// With a place, a call is rejected before it does anything, and not after steps that would have to be undone. An
/// address uses its share of the places until its jobs are done.
package final class KeptPlace {
    private let pool: WorkerPlan
    private let threads: any WorkerThreads
    private let address: AddressBlock
    private var isKept = false

    /// - Parameter address: The address whose share is used; `.none`: no share.
    init(in pool: WorkerPlan, of threads: any WorkerThreads, for address: AddressBlock) throws(PlaceRefusal) {
        guard address == .none || threads.places(of: pool).reserve(1, for: address) else { throw .addressHasShare }
        self.pool = pool
        self.threads = threads
        self.address = address
        do throws(WorkRefusal) { try threads.reservePlace(in: pool) } catch { throw .poolIsFull(error) }
        isKept = true
    }

    deinit {
        if isKept { threads.releasePlace(in: pool) }
        if address != .none { threads.places(of: pool).release(1, of: address) }
    }

    /// The job was submitted.
    func use(for pool: WorkerPlan) {
        precondition(
            self.pool == pool && isKept, "a place in the pool \(self.pool.name) is taken twice, or for another pool")
        isKept = false
    }
}

enum PlaceRefusal: Error {
    case poolIsFull(WorkRefusal)
    case addressHasShare
}
