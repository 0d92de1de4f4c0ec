import Foundation

// @unchecked: `state` is only touched with the lock.
/// A clock whose time passes when the test says so.
public final class TestClock: Clock, @unchecked Sendable {
    /// A point in this clock's time.
    public struct Instant: InstantProtocol {
        /// How long after the clock's beginning.
        public var offset: Duration
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [Int: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var last = 0
        /// Tests that wait for so many sleepers.
        var waiting: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
    }

    private let lock = NSLock()
    private var state = State()

    /// Makes a clock that stands still at its beginning.
    public init() {}

    public var now: Instant { lock.withLock { state.now } }
    public var minimumResolution: Duration { .zero }

    /// Lets time pass. Each task that has slept long enough wakes, in the order of their times.
    public func advance(by duration: Duration) {
        let awake = lock.withLock {
            state.now = state.now.advanced(by: duration)
            let awake = state.sleepers.filter { $0.value.until <= state.now }
            for number in awake.keys { state.sleepers[number] = nil }
            return awake.sorted { ($0.value.until, $0.key) < ($1.value.until, $1.key) }.map(\.value.continuation)
        }
        for continuation in awake { continuation.resume() }
    }

    /// Waits until so many sleep, or its task is cancelled: then time can pass without anybody missing it.
    public func sleepers(_ count: Int = 1) async {
        let number = lock.withLock {
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = lock.withLock {
                    if state.sleepers.count >= count || Task.isCancelled { return true }
                    state.waiting[number] = (count, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            lock.withLock { state.waiting.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = lock.withLock {
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers) = fallAsleep(number, until: deadline, continuation)
                for watcher in watchers { watcher.resume() }
                if isOver { continuation.resume(with: Task.isCancelled ? .failure(CancellationError()) : .success(())) }
            }
        } onCancel: {
            lock.withLock { state.sleepers.removeValue(forKey: number) }?.continuation.resume(
                throwing: CancellationError())
        }
    }

    /// Whether there is nothing to wait for; the tests that waited for this sleeper.
    private func fallAsleep(
        _ number: Int, until deadline: Instant, _ continuation: CheckedContinuation<Void, any Error>
    ) -> (isOver: Bool, watchers: [CheckedContinuation<Void, Never>]) {
        lock.withLock {
            if Task.isCancelled || deadline <= state.now { return (true, []) }
            state.sleepers[number] = (deadline, continuation)
            let count = state.sleepers.count
            let ready = state.waiting.filter { $0.value.count <= count }
            for number in ready.keys { state.waiting[number] = nil }
            return (false, ready.values.map(\.continuation))
        }
    }
}
