/// Runs the steps of a simulated shard's async functions, in the order in which they may go on, when the simulation says so.
// @unchecked: a world and all that is in it belong to one thread.
final class SimulatedSteps: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

    /// Runs all that may go on, and what that lets go on.
    func run() {
        while !jobs.isEmpty {
            let batch = jobs
            jobs = []
            for job in batch { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
