import EventLoops
import NumberedQueues

/// The calls that several loops may make at once, and the order in which further calls wait.
///
/// Any thread may use it.
public final class CallPlaces: Sendable {
    enum Place {
        case free
        /// The number of the wait.
        case later(UInt64)
    }

    private struct State {
        var free: Int
        var waiting = NumberedQueue<@Sendable () -> Void>()
    }

    private let mostWaiting: Int
    private let state: Locked<State>

    public init(_ most: Int, mostWaiting: Int) {
        self.mostWaiting = mostWaiting
        state = Locked(State(free: most))
    }

    /// - Parameter passed: Called once the caller has a place, on the thread of the call that left it. Not called if a place is
    ///   free now.
    /// - Returns: `nil` if too many wait.
    func take(_ passed: @escaping @Sendable () -> Void) -> Place? {
        state.withLock { state in
            if state.free > 0 {
                state.free -= 1
                return .free
            }
            guard state.waiting.count < mostWaiting else { return nil }
            return .later(state.waiting.append { _ in passed })
        }
    }

    /// If it no longer waits, its place is on the way, and has to be left.
    func stopWaiting(_ number: UInt64) { _ = state.withLock { $0.waiting.remove(number) } }

    func leave() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
        next?()
    }
}
