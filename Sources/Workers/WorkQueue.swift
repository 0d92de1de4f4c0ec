import EventLoops
import Glibc
import NumberedQueues

/// The jobs of a pool, between those who ask for them and its threads.
// @unchecked: `state` locks itself, and the semaphore may be used by any thread; nothing else changes.
final class WorkQueue: @unchecked Sendable {
    struct Work {
        /// Runs it. What it returns hands the result over.
        let run: @Sendable () -> @Sendable () -> Void
        /// Tells that nobody will hear of its result.
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
        /// Places that are kept for jobs still to come.
        var kept = 0
        var isClosed = false
        /// Of the latest jobs, in µs; `nil` before the first is done.
        var meanTime: Double?
        var done = 0
        var refused = 0
        var cancelled = 0
        var waitingTimes = MetricHistogram(bounds: WorkQueue.bounds)
        var runningTimes = MetricHistogram(bounds: WorkQueue.bounds)
    }

    /// In µs: from signatures (100) to a queue full of hashes (1.5 s).
    private static let bounds: [Int64] = [
        50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 500_000, 1_500_000, 5_000_000,
    ]

    private let threads: Int
    private let bound: Int
    /// In seconds.
    private let longestWait: Double
    private let state = Locked(State())
    /// Rung once for each job, and for each thread when the queue is closed. (Of a cancelled job the ring stays: some
    /// thread looks once for nothing.) Owned; freed in `deinit`.
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

    // MARK: Those who ask

    /// The job's number.
    ///
    /// - Parameter isKept: Whether a place was kept for it, which it takes.
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

    /// Keeps a place for a job that is still to come.
    func keepPlace() throws(WorkRefusal) {
        let now = MonotonicClock.microseconds
        let refusal: WorkRefusal? = state.withLock { state in
            let refusal = judge(&state, now)
            if refusal == nil { state.kept += 1 }
            return refusal
        }
        if let refusal { throw refusal }
    }

    func freePlace() { state.withLock { $0.kept -= 1 } }

    /// Why there is no place for one more; `nil` if there is.
    private func judge(_ state: inout State, _ now: Int64) -> WorkRefusal? {
        guard !state.isClosed else { return .stopped }
        // Threads that are free take a job each, though they may not have come round to it.
        let queued = state.waiting.count + state.running.count + state.kept
        guard queued < threads || queued < bound + threads && expectedWait(state, now) <= longestWait else {
            state.refused += 1
            return .overloaded(retryAfter: min(max(expectedWait(state, now), 0.1), 60))
        }
        return nil
    }

    /// In seconds. A job that runs for longer than jobs do counts as what to expect.
    private func expectedWait(_ state: State, _ now: Int64) -> Double {
        let oldest = state.running.values.map { Double(now - $0.beganAt) }.max() ?? 0
        let time = max(state.meanTime ?? 0, oldest)
        return time * Double(state.waiting.count + state.kept + 1) / Double(threads) / 1_000_000
    }

    /// Whether it waited.
    @discardableResult func cancel(_ number: UInt64) -> Bool {
        // What the job holds is released after the lock.
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

    /// Nothing is added any more. Returns what is dropped.
    func close(dropping: Bool) -> [Work] {
        let dropped: [Work] = state.withLock { state in
            state.isClosed = true
            return dropping ? state.waiting.removeAll().map(\.work) : []
        }
        for _ in 0..<threads { sem_post(bell) }
        return dropped
    }

    /// Nothing more is run, and what runs runs for nobody. Returns all of it that was not cancelled.
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

    /// What finding jobs has cost so far.
    var steps: Int { state.withLock { $0.waiting.steps } }

    // MARK: The threads

    /// What each thread does until the queue is closed and empty.
    func work() {
        while let entry = next() {
            let handOver = entry.work.run()
            // Counted first: who has heard of it finds it in the numbers.
            if finished(entry.number) { handOver() }
        }
    }

    /// Blocks until there is a job; `nil` when there will be none any more.
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

    /// Whether somebody waits for its result.
    private func finished(_ number: UInt64) -> Bool {
        let now = MonotonicClock.microseconds
        // What the job holds is released after the lock.
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
