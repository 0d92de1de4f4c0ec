import EventLoops
import PresenceProtocol
import WebSockets
import Workers

/// The pools of a process, by their names.
package final class WorkerPools: Sendable {
    private let pools: [String: WorkerPool]
    private let places: [String: AddressBudget]

    package init(_ plans: [WorkerPlan], _ configuration: ServerConfiguration) {
        let plans = plans.filter { $0.threads(configuration) > 0 }
        places = Dictionary(uniqueKeysWithValues: plans.map { ($0.name, AddressBudget($0.places(configuration))) })
        pools = Dictionary(
            uniqueKeysWithValues: plans.map { plan in
                let pool = WorkerPool(
                    name: plan.name, threads: plan.threads(configuration),
                    queue: max(0, plan.queue(configuration)), longestWait: plan.longestWait,
                    hasLowPriority: plan.hasLowPriority)
                return (plan.name, pool)
            })
    }

    subscript(plan: WorkerPlan) -> WorkerPool {
        guard let pool = pools[plan.name] else { preconditionFailure("the pool \(plan.name) is in no feature's plan") }
        return pool
    }

    func places(of plan: WorkerPlan) -> AddressBudget {
        guard let places = places[plan.name] else {
            preconditionFailure("the pool \(plan.name) is in no feature's plan")
        }
        return places
    }

    /// Drops waiting jobs and waits for running ones, but no longer than `grace`: a job that hangs does not keep a
    /// server from stopping. The callers that wait for either are informed.
    ///
    /// - Returns: The pools with jobs that still run.
    package func stop(within grace: Milliseconds) async -> [String] {
        let pools = pools.values.sorted { $0.name < $1.name }
        for pool in pools { pool.close(.drop) }
        let end = MonotonicClock.microseconds + grace * 1_000
        return await withCheckedContinuation { done in
            // `join` blocks.
            QuietThread(name: "stop") {
                done.resume(returning: pools.filter { !$0.join(until: end) }.map(\.name))
            }.detach()
        }
    }

    var numbers: [WorkerNumbers] { pools.values.map(\.numbers).sorted { $0.name < $1.name } }
}

/// A shard's access to the process' pools.
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
        to plan: WorkerPlan, inKeptPlace: Bool, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) -> any CancellableWork {
        let (clock, loop) = (clock, loop)
        return try pools[plan].submit(on: loop, inKeptPlace: inKeptPlace, work) { result in
            clock.advance(to: loop.now)
            then(result)
        }
    }

    func reservePlace(in plan: WorkerPlan) throws(WorkRefusal) { try pools[plan].reservePlace() }
    func releasePlace(in plan: WorkerPlan) { pools[plan].releasePlace() }
    func places(of plan: WorkerPlan) -> AddressBudget { pools.places(of: plan) }
}
