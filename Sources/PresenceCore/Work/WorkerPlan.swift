import Glibc

/// A pool of threads for what would take too long on a shard's loop. There is one for the whole process, whichever shard
/// asks; a feature names its pools in its plan.
package struct WorkerPlan: Sendable, Hashable {
    /// Unique among all features; the label of its metrics.
    package let name: String
    /// How many jobs run at a time; 0 for a pool that is not needed, and not made.
    package let threads: @Sendable (ServerConfiguration) -> Int
    /// How many wait at most. More are refused at once.
    package let queue: @Sendable (ServerConfiguration) -> Int
    /// In seconds: a job that would wait for longer is refused.
    let longestWait: Double
    /// Whether its threads stand back where others want to run.
    let hasLowPriority: Bool

    /// - Parameters:
    ///   - threads: Of a feature that lets operators set it: `{ Int($0[Self.threads]) }`.
    ///   - longestWait: In seconds; of calls it is well below the 30 s after which a call is given up.
    package init(
        _ name: String, threads: @escaping @Sendable (ServerConfiguration) -> Int,
        queue: @escaping @Sendable (ServerConfiguration) -> Int, longestWait: Double = .infinity,
        hasLowPriority: Bool = false
    ) {
        self.name = name
        self.threads = threads
        self.queue = queue
        self.longestWait = longestWait
        self.hasLowPriority = hasLowPriority
    }

    /// How many jobs run and wait at most.
    package func places(_ configuration: ServerConfiguration) -> Int {
        threads(configuration) + max(0, queue(configuration))
    }

    package static func == (a: WorkerPlan, b: WorkerPlan) -> Bool { a.name == b.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// The processor cores that there are.
    package static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Every pool of a server with these features.
    package static func all(of features: [any Feature.Type]) -> [WorkerPlan] {
        let plans = [signatures, files, compression] + features.flatMap { $0.plan.pools }
        precondition(Set(plans).count == plans.count, "two features have a pool of the same name")
        return plans
    }

    /// Verifies what takes 20 to 70 µs: the signatures of tokens by RSA and elliptic curves. Of clients that all come back
    /// at once, so many wait; their tokens count in `limits.inboxBytes`.
    package static let signatures = WorkerPlan(
        "signatures", threads: { _ in max(1, cores / 2) }, queue: { _ in 16_384 })

    /// Opens, reads and writes files. Each upload and each download has one job at a time; what is asked for and not yet
    /// opened comes on top.
    package static let files = WorkerPlan(
        "files", threads: { _ in 4 }, queue: { $0.limits.uploads + $0.limits.downloads + 1_024 })

    /// Compresses answers. What finds no place is sent as it is.
    static let compression = WorkerPlan(
        "compression", threads: { _ in max(1, cores / 2) }, queue: { _ in 64 })
}
