import EventLoops
import Workers

/// The pools of a process, by their names.
package final class WorkerPools: Sendable {
    private let pools: [String: WorkerPool]

    package init(_ plans: [WorkerPlan], _ configuration: ServerConfiguration) {
        pools = Dictionary(
            uniqueKeysWithValues: plans.map { plan in
                let pool = WorkerPool(
                    name: plan.name, threads: max(1, plan.threads(configuration)),
                    queue: max(0, plan.queue(configuration)), hasLowPriority: plan.hasLowPriority)
                return (plan.name, pool)
            })
    }

    subscript(plan: WorkerPlan) -> WorkerPool {
        guard let pool = pools[plan.name] else { preconditionFailure("no feature has planned the pool \(plan.name)") }
        return pool
    }

    /// Nobody hears of what waits; blocks until what runs has ended.
    package func stop() {
        for pool in pools.values { pool.stop(.drop) }
    }

    var numbers: [WorkerNumbers] { pools.values.map(\.numbers).sorted { $0.name < $1.name } }
}

/// A shard's way to the process' pools.
final class ShardWorkers: WorkerThreads {
    private let pools: WorkerPools
    private let loop: EventLoop
    private let clock: ShardClock

    init(_ pools: WorkerPools, loop: EventLoop, clock: ShardClock) {
        self.pools = pools
        self.loop = loop
        self.clock = clock
    }

    func submit<Value: Sendable>(
        to plan: WorkerPlan, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) -> any CancellableWork {
        let (clock, loop) = (clock, loop)
        return try pools[plan].submit(on: loop, work) { result in
            clock.advance(to: loop.now)
            then(result)
        }
    }
}
