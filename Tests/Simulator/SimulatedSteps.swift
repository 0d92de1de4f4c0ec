/// Runs the steps of a simulated shard's async functions, in the order in which they can continue, when the simulation
/// calls it.
// @unchecked: a world and all its objects belong to one thread.
final class SimulatedSteps: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

    /// Runs all steps that can continue, and those that they enable.
    func run() {
        while !jobs.isEmpty {
            let batch = jobs
            jobs = []
            for job in batch { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
