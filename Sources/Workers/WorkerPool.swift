public import EventLoops

/// A few threads that run jobs which would hold up a loop: hashes, signatures, pictures. What a job returns is handed over
/// on the loop that asked for it.
///
/// It guarantees that
/// - jobs begin in the order in which they came, at most `queue` wait, and none that would wait for longer than `longestWait`
///   as far as the jobs before it tell: one more is refused at once, with the time after which there may be room;
/// - the asker hears of each job once, on its loop: its result, or that it was dropped when the pool was stopped; of a
///   cancelled job it hears nothing;
/// - a job that is cancelled while it waits is never run.
///
/// Slow jobs do not hold up quick ones if they have a pool of their own. A round trip costs 2 to 4 µs of CPU (measured).
public final class WorkerPool: Sendable {
    /// In metrics and, cut to 15 bytes, as the name of its threads.
    public let name: String
    private let queue: WorkQueue
    private let threads: Locked<[QuietThread]>

    /// - Parameters:
    ///   - threads: How many jobs run at a time; at least one.
    ///   - queue: How many jobs wait at most, beside those that run.
    ///   - longestWait: In seconds. The caller has a time limit of its own; a result that comes later would be thrown away.
    ///   - hasLowPriority: Whether its threads stand back where others want to run (`nice` + 5).
    public init(
        name: String, threads: Int, queue bound: Int, longestWait: Double = .infinity, hasLowPriority: Bool = false
    ) {
        precondition(threads > 0 && bound >= 0, "the pool \(name) needs a thread")
        self.name = name
        let queue = WorkQueue(threads: threads, bound: bound, longestWait: longestWait)
        self.queue = queue
        self.threads = Locked(
            (0..<threads).map { _ in
                QuietThread(name: name) {
                    if hasLowPriority { QuietThread.lowerPriority() }
                    queue.work()
                }
            })
    }

    deinit {
        // Threads hold the queue, not the pool: without it nobody could stop them.
        stop(.drop)
    }

    /// Runs `work` on one of the threads, and then hands its result to `then` on `loop`, never within this call.
    ///
    /// Called on `loop`, which `then` never leaves. `work` must not wait for the loop.
    ///
    /// - Parameter inKeptPlace: Whether a place was kept for it (``keepPlace()``), which it takes.
    /// - Throws: ``WorkRefusal`` if too many jobs wait, or the pool was stopped.
    public func submit<Value: Sendable>(
        on loop: EventLoop, inKeptPlace: Bool = false, _ work: @escaping @Sendable () -> Value,
        then: @escaping (Result<Value, WorkRefusal>) -> Void
    ) throws(WorkRefusal) -> Job<Value> {
        let job = Job(queue: queue, loop: loop, then: then)
        job.number = try queue.add(
            .init {
                let value = work()
                return { job.deliver(.success(value)) }
            } drop: {
                job.deliver(.failure(.stopped))
            }, isKept: inKeptPlace)
        return job
    }

    /// Keeps a place for a job that is still to come. It counts among those that wait until the job is there, or it is freed.
    ///
    /// - Throws: ``WorkRefusal`` as for a job.
    public func keepPlace() throws(WorkRefusal) { try queue.keepPlace() }

    /// Frees a place that was kept, and for which no job came.
    public func freePlace() { queue.freePlace() }

    /// What becomes of the jobs that wait when the pool stops.
    public enum Rest: Sendable {
        /// They are run.
        case drain
        /// They are not run, and their askers hear ``WorkRefusal/stopped``.
        case drop
    }

    /// Takes no more jobs, and blocks until those that run (and, to drain it, those that wait) are done. May be called again.
    /// Not on a thread of the pool.
    public func stop(_ rest: Rest) {
        close(rest)
        _ = join(until: .max)
    }

    /// The same, but blocks for so long at most. A job that takes longer goes on for nobody: its asker hears
    /// ``WorkRefusal/stopped``, and its thread ends with it.
    ///
    /// - Parameter grace: In seconds.
    /// - Returns: Whether all have ended.
    @discardableResult
    public func stop(_ rest: Rest, within grace: Double) -> Bool {
        close(rest)
        return join(until: MonotonicClock.microseconds + Int64(grace * 1_000_000))
    }

    /// The first half of stopping: takes no more jobs, and does not block.
    package func close(_ rest: Rest) {
        for work in queue.close(dropping: rest == .drop) { work.drop() }
    }

    /// The other half.
    ///
    /// - Parameter end: On the monotonic clock, in µs; `.max` for as long as it takes.
    package func join(until end: Int64) -> Bool {
        threads.withLock { threads in
            defer { threads = [] }
            guard end != .max else {
                for thread in threads { thread.join() }
                return true
            }
            let late = threads.filter { !$0.join(until: end) }
            guard !late.isEmpty else { return true }
            for work in queue.abandon() { work.drop() }
            for thread in late { thread.detach() }
            return false
        }
    }

    /// What it has done, and what it does.
    public var numbers: WorkerNumbers { queue.numbers(of: name) }
}
