import Glibc

/// A pool of threads for work that would take too long on a shard's loop. The process has one of each, for all shards;
/// a feature lists its pools in its plan.
package struct WorkerPlan: Sendable, Hashable {
    /// Unique among all features; the label of its metrics.
    package let name: String
    /// The number of threads; 0 for a pool that is not needed and not created.
    package let threads: @Sendable (ServerConfiguration) -> Int
    /// The most jobs that wait. Further ones are rejected at once.
    package let queue: @Sendable (ServerConfiguration) -> Int
    /// In seconds: a job that would wait for longer is rejected.
    let longestWait: Double
    /// Whether its threads have a lower priority than other threads.
    let hasLowPriority: Bool

    /// - Parameters:
    ///   - threads: For a feature that lets operators set it: `{ Int($0[Self.threads]) }`.
    ///   - longestWait: In seconds; for calls it must be well below the 30 s after which a call is aborted.
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

    /// The most jobs that run and wait.
    package func places(_ configuration: ServerConfiguration) -> Int {
        threads(configuration) + max(0, queue(configuration))
    }

    package static func == (a: WorkerPlan, b: WorkerPlan) -> Bool { a.name == b.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// The number of processor cores.
    package static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Every pool of a server with these features.
    package static func all(of features: [any Feature.Type]) -> [WorkerPlan] {
        let plans = [signatures, files, compression] + features.flatMap { $0.plan.pools }
        precondition(Set(plans).count == plans.count, "two features have a pool of the same name")
        return plans
    }

    /// Verifies signatures of tokens by RSA and elliptic curves, which takes 20 to 70 µs each. The queue has room for
    /// all clients that reconnect at once; their tokens count towards `limits.inboxBytes`.
    package static let signatures = WorkerPlan(
        "signatures", threads: { _ in max(1, cores / 2) }, queue: { _ in 16_384 })

    /// Opens, reads and writes files. Each upload and each download has one job at a time, besides those that wait for
    /// a file to be opened.
    package static let files = WorkerPlan(
        "files", threads: { _ in 4 }, queue: { $0.limits.uploads + $0.limits.downloads + 1_024 })

    /// Compresses responses. Without a place, a response is sent uncompressed.
    static let compression = WorkerPlan(
        "compression", threads: { _ in max(1, cores / 2) }, queue: { _ in 64 })
}
