import Foundation
import Synchronization

/// People on another server, who change by the clock and watch each other during a storm.
///
/// They have a thread and an engine of their own, so that their latencies depend on the servers and not on this tool's
/// work for the storm.
final class Bystanders: Sendable {
    enum Order { case wait, change, settle, leave }

    /// A bystander's change as another one received it.
    struct Sample {
        /// When the change was due to be sent.
        var intended: Instant
        var latency: Nanoseconds
    }

    struct State {
        var order = Order.wait
        /// All are connected and watch each other.
        var isReady = false
        /// The changes are over, and all bystanders have all last changes.
        var isSettled = false
        var samples: [Sample] = []
        /// Each one's last change.
        var newest: [Int] = []
        /// Changes that a watcher skipped because it received a newer one.
        var conflated = 0
        /// The delay of the changes (p99).
        var lateness: Nanoseconds = 0
        var failure: Failure?
    }

    let users: NumberedUsers
    let count: Int
    let rate: Double
    let endpoint: Endpoint
    private let state = Mutex(State())

    init(endpoint: Endpoint, users: NumberedUsers, count: Int, rate: Double, mint: TokenMint) {
        self.endpoint = endpoint
        self.users = users
        self.count = count
        self.rate = rate
        self.mint = mint
    }

    let mint: TokenMint

    /// Their present state. The samples are complete once they have settled.
    var now: State { state.withLock { $0 } }

    func order(_ order: Order) { state.withLock { $0.order = order } }

    func update(_ change: (inout sending State) -> Void) { state.withLock { change(&$0) } }

    /// Starts their thread, which ends when it is asked to, or fails.
    func start() {
        Thread.detachNewThread { [self] in
            do throws(Failure) {
                let engine = try Engine(endpoints: [endpoint], connections: count, heedsInterrupt: false)
                try engine.run(BystanderRun(self, engine: engine))
                engine.closeAll()
            } catch {
                state.withLock { $0.failure = error }
            }
        }
    }
}
