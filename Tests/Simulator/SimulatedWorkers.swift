import PresenceProtocol
import WebSockets
import Workers

@testable import PresenceCore
@testable import PresenceServer

/// The threads of a simulated shard: jobs begin in the order of submission, as many at a time as their pool has
/// threads, and each takes a simulated time.
final class SimulatedWorkers: WorkerThreads {
    private unowned let world: World
    private weak var shard: SimulatedShard?
    private var pools: [WorkerPlan: Pool] = [:]

    /// The duration of jobs, in ms.
    var times: ClosedRange<Milliseconds> = 1...30
    /// The queue length of each pool, if not its plan's.
    var room: Int?
    /// How many were run.
    private(set) var ran = 0

    private final class Pool {
        var waiting: [Job] = []
        var running = 0
        /// Places reserved for jobs that are still to come.
        var kept = 0
        let places: AddressBudget

        init(places: Int) { self.places = AddressBudget(places) }
    }

    private final class Job: CancellableWork {
        /// Runs it. The returned function delivers the result.
        let run: () -> () -> Void
        var hasBegun = false
        var isCancelled = false

        init(_ run: @escaping () -> () -> Void) { self.run = run }

        func cancel() -> Bool {
            isCancelled = true
            return !hasBegun
        }
    }

    init(world: World, shard: SimulatedShard) {
        self.world = world
        self.shard = shard
    }

    func submit<Value: Sendable>(
        to plan: WorkerPlan, inKeptPlace: Bool, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) -> any CancellableWork {
        let pool = pool(plan)
        if inKeptPlace { pool.kept -= 1 } else { try checkRoom(in: pool, plan) }
        let job = Job {
            let value = work()
            return { then(.success(value)) }
        }
        pool.waiting.append(job)
        begin(pool, plan)
        return job
    }

    func keepPlace(in plan: WorkerPlan) throws(WorkRefusal) {
        let pool = pool(plan)
        try checkRoom(in: pool, plan)
        pool.kept += 1
    }

    func freePlace(in plan: WorkerPlan) { pools[plan]?.kept -= 1 }
    func places(of plan: WorkerPlan) -> AddressBudget { pool(plan).places }

    private func pool(_ plan: WorkerPlan) -> Pool {
        if let pool = pools[plan] { return pool }
        precondition(WorkerPlan.all(of: world.features).contains(plan), "no feature has planned the pool \(plan.name)")
        let pool = Pool(places: plan.places(world.configuration))
        pools[plan] = pool
        return pool
    }

    private func checkRoom(in pool: Pool, _ plan: WorkerPlan) throws(WorkRefusal) {
        pool.waiting.removeAll { $0.isCancelled }
        let most = room ?? plan.places(world.configuration)
        guard pool.waiting.count + pool.running + pool.kept < most else { throw .overloaded(retryAfter: 1) }
    }

    private func begin(_ pool: Pool, _ plan: WorkerPlan) {
        pool.waiting.removeAll { $0.isCancelled }
        while pool.running < plan.threads(world.configuration), !pool.waiting.isEmpty {
            let job = pool.waiting.removeFirst()
            job.hasBegun = true
            pool.running += 1
            ran += 1
            let handOver = job.run()
            world.after(Milliseconds.random(in: times, using: &world.random)) { [weak self] in
                guard let self else { return }
                pool.running -= 1
                shard?.input { _ in if !job.isCancelled { handOver() } }
                begin(pool, plan)
            }
        }
    }
}
