import EventLoops
import Glibc
import NumberedQueues

/// The jobs of a pool, between the submitters and the threads.
// @unchecked: `state` locks itself, any thread may use the semaphore, and nothing else changes.
final class WorkQueue: @unchecked Sendable {
    struct Work {
        /// Runs the job. The returned function delivers the result.
        let run: @Sendable () -> @Sendable () -> Void
        /// Reports that the job will deliver no result.
        let drop: @Sendable () -> Void
    }

    struct Entry {
        let number: UInt64
        let queuedAt: Int64
        let work: Work
    }

    private struct Running {
        let beganAt: Int64
        let work: Work
        var isCancelled = false
    }

    private struct State {
        var waiting = NumberedQueue<Entry>()
        var running: [UInt64: Running] = [:]
        /// Places reserved for jobs that are still to come.
        var kept = 0
        var isClosed = false
        /// Mean time of the latest jobs, in µs; `nil` before the first is done.
        var meanTime: Double?
        var done = 0
        var refused = 0
        var cancelled = 0
        var waitingTimes = MetricHistogram(bounds: WorkQueue.bounds)
        var runningTimes = MetricHistogram(bounds: WorkQueue.bounds)
    }

    /// The histogram's bounds in µs: from signatures (100) to a queue full of hashes (1.5 s).
    private static let bounds: [Int64] = [
        50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 500_000, 1_500_000, 5_000_000,
    ]

    private let threads: Int
    private let bound: Int
    /// In seconds.
    private let longestWait: Double
    private let state = Locked(State())
    /// Rung once for each job, and for each thread when the queue is closed. (The ring of a cancelled job stays: a
    /// thread then wakes and finds no job.) Owned; freed in `deinit`.
    private let bell: UnsafeMutablePointer<sem_t>

    init(threads: Int, bound: Int, longestWait: Double = .infinity) {
        self.threads = threads
        self.bound = bound
        self.longestWait = longestWait
        bell = .allocate(capacity: 1)
        sem_init(bell, 0, 0)
    }

    deinit {
        sem_destroy(bell)
        bell.deallocate()
    }

    // MARK: Submitters

    /// Returns the job's number.
    ///
    /// - Parameter isKept: Whether a place was reserved for the job, which it now uses.
    func add(_ work: Work, isKept: Bool = false) throws(WorkRefusal) -> UInt64 {
        let now = MonotonicClock.microseconds
        let result: Result<UInt64, WorkRefusal> = state.withLock { state in
            if isKept {
                state.kept -= 1
                if state.isClosed { return .failure(.stopped) }
            } else if let refusal = judge(&state, now) {
                return .failure(refusal)
            }
            return .success(state.waiting.append { Entry(number: $0, queuedAt: now, work: work) })
        }
        let number = try result.get()
        sem_post(bell)
        return number
    }

    /// Reserves a place for a job that is still to come.
    func reservePlace() throws(WorkRefusal) {
        let now = MonotonicClock.microseconds
        let refusal: WorkRefusal? = state.withLock { state in
            let refusal = judge(&state, now)
            if refusal == nil { state.kept += 1 }
            return refusal
        }
        if let refusal { throw refusal }
    }

    func releasePlace() { state.withLock { $0.kept -= 1 } }

    /// The reason why there is no place for another job; `nil` if there is one.
    private func judge(_ state: inout State, _ now: Int64) -> WorkRefusal? {
        guard !state.isClosed else { return .stopped }
        // Each free thread takes a job, even if the thread may not have woken up yet.
        let queued = state.waiting.count + state.running.count + state.kept
        guard queued < threads || queued < bound + threads && expectedWait(state, now) <= longestWait else {
            state.refused += 1
            return .overloaded(retryAfter: min(max(expectedWait(state, now), 0.1), 60))
        }
        return nil
    }

    /// In seconds. A job that has run for longer than the mean is expected to take the time that it has run so far.
    private func expectedWait(_ state: State, _ now: Int64) -> Double {
        let oldest = state.running.values.map { Double(now - $0.beganAt) }.max() ?? 0
        let time = max(state.meanTime ?? 0, oldest)
        return time * Double(state.waiting.count + state.kept + 1) / Double(threads) / 1_000_000
    }

    /// Returns whether the job was waiting.
    @discardableResult func cancel(_ number: UInt64) -> Bool {
        // The captures of the job are released outside the lock.
        let entry: Entry? = state.withLock { state in
            if state.running[number] != nil {
                state.running[number]?.isCancelled = true
                state.cancelled += 1
                return nil
            }
            let entry = state.waiting.remove(number)
            if entry != nil { state.cancelled += 1 }
            return entry
        }
        return entry != nil
    }

    /// Closes the queue to new jobs. Returns the dropped jobs.
    func close(dropping: Bool) -> [Work] {
        let dropped: [Work] = state.withLock { state in
            state.isClosed = true
            return dropping ? state.waiting.removeAll().map(\.work) : []
        }
        for _ in 0..<threads { sem_post(bell) }
        return dropped
    }

    /// Drops all jobs, and the results of running ones. Returns all of them that were not cancelled.
    func abandon() -> [Work] {
        state.withLock { state in
            var abandoned = state.waiting.removeAll().map(\.work)
            for (number, running) in state.running where !running.isCancelled {
                state.running[number]?.isCancelled = true
                abandoned.append(running.work)
            }
            return abandoned
        }
    }

    /// The cost of finding jobs so far.
    var steps: Int { state.withLock { $0.waiting.steps } }

    // MARK: The threads

    /// The loop of each thread, until the queue is closed and empty.
    func work() {
        while let entry = next() {
            let handOver = entry.work.run()
            // Counts the job before delivering it, so that its submitter finds it in the metrics.
            if finished(entry.number) { handOver() }
        }
    }

    /// Blocks until there is a job; `nil` when the queue is closed and empty.
    private func next() -> Entry? {
        while true {
            while sem_wait(bell) != 0 {}
            let now = MonotonicClock.microseconds
            let (entry, isOver): (Entry?, Bool) = state.withLock { state in
                guard let entry = state.waiting.popFirst() else { return (nil, state.isClosed) }
                state.waitingTimes.record(now - entry.queuedAt)
                state.running[entry.number] = Running(beganAt: now, work: entry.work)
                return (entry, false)
            }
            if let entry { return entry }
            if isOver { return nil }
        }
    }

    /// Returns whether the result is still wanted.
    private func finished(_ number: UInt64) -> Bool {
        let now = MonotonicClock.microseconds
        // The captures of the job are released outside the lock.
        var released: Work?
        defer { _ = released }
        return state.withLock { state in
            guard let running = state.running.removeValue(forKey: number) else { return false }
            released = running.work
            let time = now - running.beganAt
            state.runningTimes.record(time)
            state.meanTime = state.meanTime.map { $0 + (Double(time) - $0) / 16 } ?? Double(time)
            if !running.isCancelled { state.done += 1 }
            return !running.isCancelled
        }
    }

    func numbers(of name: String) -> WorkerNumbers {
        state.withLock { state in
            WorkerNumbers(
                name: name, threads: threads, queued: state.waiting.count + state.kept, running: state.running.count,
                done: state.done, refused: state.refused, cancelled: state.cancelled, waitingTimes: state.waitingTimes,
                runningTimes: state.runningTimes)
        }
    }
}
