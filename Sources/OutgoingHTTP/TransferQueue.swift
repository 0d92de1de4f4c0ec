import CCurl
import EventLoops
import NumberedQueues

/// The requests and mails between the senders and the thread.
// @unchecked: `state` locks itself. `multi` belongs to libcurl. Threads other than the client's own make only one call
// with it, `curl_multi_wakeup`, which any thread may make, and only under the lock, so never after `multi` was freed.
final class TransferQueue: @unchecked Sendable {
    struct Entry {
        let number: UInt64
        let order: TransferOrder
        /// On the monotonic clock, in µs.
        let askedAt: Int64
        let deliver: @Sendable (Result<OutgoingResponse, OutgoingFailure>) -> Void
        /// When it left the queue.
        var begunAt: Int64?

        /// When its time is over: of its wait, or of the transfer.
        var end: Int64 {
            let limits = order.limits
            guard let waiting = limits.waiting else { return askedAt + Int64(limits.total * 1_000_000) }
            guard let begunAt else { return askedAt + Int64(waiting * 1_000_000) }
            return begunAt + Int64(limits.total * 1_000_000)
        }
    }

    /// The thread's tasks.
    struct Orders {
        var starts: [Entry] = []
        /// Entries whose time limit passed before they began.
        var expired: [Entry] = []
        /// When there may be room, in seconds.
        var retryAfter = 0.0
        var cancels: [UInt64] = []
        /// If set, no more orders will come, and transfers that remain at this time are aborted.
        var stopAt: Int64?
        /// The queue is empty.
        var isEmpty = true
        /// When the next waiting entry expires.
        var nextEnd: Int64?
    }

    private struct State {
        var waiting = NumberedQueue<Entry>()
        /// The transfers of the thread, with the times at which they were requested.
        var running: [UInt64: Int64] = [:]
        var cancels: [UInt64] = []
        var stopAt: Int64?
        /// Mean time of the latest transfers, in ms; `nil` before the first is over.
        var meanTime: Double?
        var numbers = OutgoingNumbers()
        /// The thread has ended, and freed `multi`.
        var isClosed = false

        /// When there may be room, in seconds, by the times of the latest transfers.
        func retryAfter(_ mostRunning: Int) -> Double {
            min(max((meanTime ?? 0) * Double(waiting.count + 1) / Double(mostRunning) / 1_000, 0.1), 60)
        }
    }

    let mostRunning: Int
    private let mostQueued: Int
    private let state = Locked(State())
    /// Created here; then owned by the thread, which frees it.
    let multi: UnsafeMutableRawPointer

    init(mostRunning: Int, mostQueued: Int) {
        guard let multi = curl_multi_init() else { preconditionFailure("libcurl has no memory") }
        self.mostRunning = mostRunning
        self.mostQueued = mostQueued
        self.multi = multi
    }

    // MARK: Senders

    func add(
        _ order: TransferOrder, deliver: @escaping @Sendable (Result<OutgoingResponse, OutgoingFailure>) -> Void
    ) throws(OutgoingFailure) -> UInt64 {
        let now = MonotonicClock.microseconds
        let result: Result<UInt64, OutgoingFailure> = state.withLock { state in
            guard state.stopAt == nil else { return .failure(.stopped) }
            guard state.waiting.count + state.running.count < mostRunning + mostQueued else {
                state.numbers.refused += 1
                return .failure(.overloaded(retryAfter: state.retryAfter(mostRunning)))
            }
            let number = state.waiting.append { Entry(number: $0, order: order, askedAt: now, deliver: deliver) }
            wake(state)
            return .success(number)
        }
        return try result.get()
    }

    func cancel(_ number: UInt64) {
        // The entry leaves the closure, so that its contents are released outside the lock.
        let entry: Entry? = state.withLock { state in
            if state.running[number] != nil {
                state.cancels.append(number)
                wake(state)
                return nil
            }
            let entry = state.waiting.remove(number)
            if entry != nil { state.numbers.cancelled += 1 }
            return entry
        }
        _ = entry
    }

    func stop(within grace: Double) {
        let at = MonotonicClock.microseconds + Int64(grace * 1_000_000)
        state.withLock { state in
            state.stopAt = min(state.stopAt ?? .max, at)
            wake(state)
        }
    }

    private func wake(_ state: State) {
        if !state.isClosed { curl_multi_wakeup(multi) }
    }

    var numbers: OutgoingNumbers {
        state.withLock { state in
            var numbers = state.numbers
            numbers.queued = state.waiting.count
            numbers.running = state.running.count
            return numbers
        }
    }

    // MARK: The thread

    func take(now: Int64) -> Orders {
        state.withLock { state in
            var orders = Orders(cancels: state.cancels, stopAt: state.stopAt)
            state.cancels = []
            orders.expired = state.waiting.removeAll { $0.end <= now }
            for entry in orders.expired { state.running[entry.number] = entry.askedAt }
            orders.retryAfter = state.retryAfter(mostRunning)
            while state.running.count < mostRunning, var entry = state.waiting.popFirst() {
                entry.begunAt = now
                state.running[entry.number] = entry.askedAt
                orders.starts.append(entry)
            }
            orders.isEmpty = state.waiting.isEmpty
            state.waiting.forEach { orders.nextEnd = min(orders.nextEnd ?? .max, $0.end) }
            return orders
        }
    }

    /// The reason to end a running transfer; `nil` if it may continue.
    func reasonToEnd(_ entry: Entry, now: Int64) -> OutgoingFailure? {
        state.withLock { state in
            if state.cancels.contains(entry.number) { return .cancelled }
            if let stopAt = state.stopAt, stopAt <= now { return .stopped }
            return entry.end <= now ? .timeout : nil
        }
    }

    /// - Parameter failure: `nil` for a response. `cancelled` is counted separately.
    func ended(_ number: UInt64, _ failure: OutgoingFailure?) {
        let now = MonotonicClock.microseconds
        state.withLock { state in
            guard let askedAt = state.running.removeValue(forKey: number) else { return }
            guard failure != .cancelled else { return state.numbers.cancelled += 1 }
            let time = (now - askedAt) / 1_000
            state.numbers.durations.record(time)
            state.meanTime = state.meanTime.map { $0 + (Double(time) - $0) / 16 } ?? Double(time)
            if let failure {
                state.numbers.failed[failure.reason, default: 0] += 1
            } else {
                state.numbers.answered += 1
            }
        }
    }

    /// Returns the waiting entries when the thread ends.
    func drop() -> [Entry] {
        state.withLock { state in
            let waiting = state.waiting.removeAll()
            for entry in waiting { state.running[entry.number] = entry.askedAt }
            return waiting
        }
    }

    /// The thread has ended: it is no longer woken.
    func closed() { state.withLock { $0.isClosed = true } }
}
