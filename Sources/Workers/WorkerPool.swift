public import EventLoops

/// A few threads for jobs that would block a loop: hashes, signatures, pictures. A job's result is delivered on the
/// loop that submitted it.
///
/// It guarantees that
/// - jobs begin in the order of submission and at most `queue` wait; a job that would exceed this, or would wait for
///   longer than `longestWait` as estimated from earlier jobs, is rejected at once, with the time after which there may
///   be room;
/// - each submitter gets one result on its loop: the job's result, or that the pool was stopped before the job ran; a
///   cancelled job delivers no result;
/// - a job that is cancelled while it waits is never run.
///
/// Slow jobs do not delay quick ones if they have a pool of their own. A round trip costs 2 to 4 µs of CPU (measured).
public final class WorkerPool: Sendable {
    /// The name in metrics and, cut to 15 bytes, of the threads.
    public let name: String
    private let queue: WorkQueue
    private let threads: Locked<[QuietThread]>

    /// - Parameters:
    ///   - threads: How many jobs run at a time; at least one.
    ///   - queue: How many jobs wait at most, in addition to those that run.
    ///   - longestWait: In seconds. The caller has a time limit of its own and would discard a later result.
    ///   - hasLowPriority: Whether its threads run at a lower priority (`nice` + 5).
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
        // Threads retain the queue, not the pool: otherwise the pool would never be released, and never stop.
        stop(.drop)
    }

    /// Runs `work` on one of the threads, and then passes its result to `then` on `loop`, never within this call.
    ///
    /// Call it on `loop`; `then` never leaves that thread. `work` must not wait for the loop.
    ///
    /// - Parameter inKeptPlace: Whether a place was reserved for the job (``reservePlace()``), which it now uses.
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

    /// Reserves a place for a job that is still to come. The place counts as a waiting job until the job uses it or the
    /// place is freed.
    ///
    /// - Throws: ``WorkRefusal`` as for a job.
    public func reservePlace() throws(WorkRefusal) { try queue.reservePlace() }

    /// Frees a reserved place that no job used.
    public func releasePlace() { queue.releasePlace() }

    /// The fate of waiting jobs when the pool stops.
    public enum Rest: Sendable {
        /// The pool runs them.
        case drain
        /// The pool drops them; their submitters get ``WorkRefusal/stopped``.
        case drop
    }

    /// Stops accepting jobs, and blocks until the running ones (with `drain`, also the waiting ones) are done. May be
    /// called again. Must not be called on a thread of the pool.
    public func stop(_ rest: Rest) {
        close(rest)
        _ = join(until: .max)
    }

    /// Stops accepting jobs, but blocks for at most `grace`. A job that takes longer is abandoned: its submitter gets
    /// ``WorkRefusal/stopped``, and its thread ends with the job.
    ///
    /// - Parameter grace: In seconds.
    /// - Returns: Whether all threads have ended.
    @discardableResult
    public func stop(_ rest: Rest, within grace: Double) -> Bool {
        close(rest)
        return join(until: MonotonicClock.microseconds + Int64(grace * 1_000_000))
    }

    /// The first half of stopping: rejects new jobs, and does not block.
    package func close(_ rest: Rest) {
        for work in queue.close(dropping: rest == .drop) { work.drop() }
    }

    /// The second half: waits for the threads.
    ///
    /// - Parameter end: On the monotonic clock, in µs; `.max` waits for as long as it takes.
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

    /// The pool's counts, past and present.
    public var numbers: WorkerNumbers { queue.numbers(of: name) }
}
