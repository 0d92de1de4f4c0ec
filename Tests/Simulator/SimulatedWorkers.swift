import Passwords
import PresenceProtocol
import WebSockets
import Workers

@testable import PresenceCore
@testable import PresenceServer

/// The threads of a simulated shard: jobs begin in the order of submission, as many at a time as their pool has
/// threads, and each takes a simulated time.
final class SimulatedWorkers: WorkerThreads {
    private unowned(unsafe) let world: World
    private weak var shard: SimulatedShard?
    private var pools: [WorkerPlan: Pool] = [:]

    /// The duration of jobs, in ms.
    var times: ClosedRange<Milliseconds> = 1...30
    /// The queue length of each pool, if not its plan's.
    var room: Int?
    /// The number of jobs that were run.
    private(set) var ran = 0

    private final class Pool {
        var waiting: [Job] = []
        var underWay: [Job] = []
        var running: Int { underWay.count }
        /// Places reserved for jobs that are still to come.
        var kept = 0
        let places: AddressBudget

        init(places: Int) { self.places = AddressBudget(places) }
    }

    /// The process stops: waiting jobs are informed.
    func stop() {
        let jobs = pools.values.flatMap { $0.waiting + $0.underWay }
        pools = [:]
        for job in jobs where !job.isCancelled { job.stopped() }
    }

    private final class Job: CancellableWork {
        /// Runs it. The returned function delivers the result.
        let run: () -> () -> Void
        let stopped: () -> Void
        var hasBegun = false
        var isCancelled = false

        init(stopped: @escaping () -> Void, _ run: @escaping () -> () -> Void) {
            self.stopped = stopped
            self.run = run
        }

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
        guard shard?.isReleased != true else { throw .stopped }
        let pool = pool(plan)
        if inKeptPlace { pool.kept -= 1 } else { try checkRoom(in: pool, plan) }
        let job = Job(stopped: { then(.failure(.stopped)) }) {
            // Cheap hashes: simulations are not about the cost of passwords.
            let value = PasswordHash.Parameters.$standard.withValue(.init(memory: 8, passes: 1)) { work() }
            return { then(.success(value)) }
        }
        pool.waiting.append(job)
        begin(pool, plan)
        return job
    }

    func reservePlace(in plan: WorkerPlan) throws(WorkRefusal) {
        let pool = pool(plan)
        try checkRoom(in: pool, plan)
        pool.kept += 1
    }

    func releasePlace(in plan: WorkerPlan) { pools[plan]?.kept -= 1 }
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
            pool.underWay.append(job)
            ran += 1
            let handOver = job.run()
            world.after(Milliseconds.random(in: times, using: &world.random)) { [weak self] in
                guard let self, shard?.isReleased == false else { return }
                pool.underWay.removeAll { $0 === job }
                shard?.input { _ in if !job.isCancelled { handOver() } }
                begin(pool, plan)
            }
        }
    }
}
