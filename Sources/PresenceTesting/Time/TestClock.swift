import Foundation

// @unchecked: `state` is only touched with the lock.
/// A clock that the test advances.
public final class TestClock: Clock, @unchecked Sendable {
    /// A point in this clock's time.
    public struct Instant: InstantProtocol {
        /// The time since the clock's start.
        public var offset: Duration
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [Int: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var last = 0
        /// Calls that wait for this many sleepers.
        var waiting: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        /// Servers that follow the time.
        var followers: [@Sendable () -> Void] = []
    }

    private let lock = NSLock()
    private var state = State()

    /// Creates a clock that stands still at its start.
    public init() {}

    public var now: Instant { lock.withLock { state.now } }
    public var minimumResolution: Duration { .zero }

    /// Advances the time. Each task whose sleep is over wakes, in the order of their deadlines.
    public func advance(by duration: Duration) {
        let (awake, followers) = lock.withLock {
            state.now = state.now.advanced(by: duration)
            let awake = state.sleepers.filter { $0.value.until <= state.now }
            for number in awake.keys { state.sleepers[number] = nil }
            let sorted = awake.sorted { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
            return (sorted.map(\.value.continuation), state.followers)
        }
        for follower in followers { follower() }
        for continuation in awake { continuation.resume() }
    }

    /// Calls a closure after each advance.
    func onAdvance(_ body: @escaping @Sendable () -> Void) { lock.withLock { state.followers.append(body) } }

    /// Waits until this many tasks sleep, or its task is cancelled. After that, advancing the time reaches all of them.
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

    /// Registers a sleeper. Returns whether its sleep is already over, and the tests that waited for it.
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
