import EventLoops
import NumberedQueues

/// The calls that several loops may make at once, and the order in which further calls wait. It counts their connections, too.
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
        var connections = 0
        var sheds: [@Sendable () -> Void] = []
    }

    private let most: Int
    private let mostWaiting: Int
    private let state: Locked<State>

    public init(_ most: Int, mostWaiting: Int) {
        (self.most, self.mostWaiting) = (most, mostWaiting)
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

    // MARK: Connections

    /// - Parameter shed: Called when a loop has opened a connection, and there are more than places: the others close those that
    ///   they do not use.
    func onTooManyConnections(_ shed: @escaping @Sendable () -> Void) { state.withLock { $0.sheds.append(shed) } }

    func opened() {
        let sheds = state.withLock { state in
            state.connections += 1
            return state.connections > most ? state.sheds : []
        }
        for shed in sheds { shed() }
    }

    func closed() { state.withLock { $0.connections -= 1 } }

    var haveTooManyConnections: Bool { state.withLock { $0.connections > most } }
}
