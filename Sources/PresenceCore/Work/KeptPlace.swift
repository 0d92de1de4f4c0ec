import Workers

/// A place in a pool's queue for a job that is still to come. Without one it is free again when nobody holds it any more.
///
/// So a call is refused before it does anything, and not after it has done what a refusal would have to undo.
package final class KeptPlace {
    private let pool: WorkerPlan
    private let threads: any WorkerThreads
    private var isKept = false

    init(in pool: WorkerPlan, of threads: any WorkerThreads) throws(WorkRefusal) {
        self.pool = pool
        self.threads = threads
        try threads.keepPlace(in: pool)
        isKept = true
    }

    deinit { if isKept { threads.freePlace(in: pool) } }

    /// A job is there.
    func take(for pool: WorkerPlan) {
        precondition(self.pool == pool && isKept, "a place of the pool \(self.pool.name) is taken once, and for it")
        isKept = false
    }
}
