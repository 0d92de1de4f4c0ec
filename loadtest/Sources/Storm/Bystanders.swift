import Foundation
import Synchronization

/// People on a server that goes on, who change by the clock and watch each other while a storm blows elsewhere.
///
/// They have a thread and an engine of their own, so that what they notice is the servers' doing and not the work that
/// this tool has with the storm.
final class Bystanders: Sendable {
    enum Order { case wait, change, settle, leave }

    /// A change of one as another received it.
    struct Sample {
        /// When the change was meant to be sent.
        var intended: Instant
        var latency: Nanoseconds
    }

    struct State {
        var order = Order.wait
        /// All are connected and watch each other.
        var isReady = false
        /// The changes are over, and everyone has everyone's last.
        var isSettled = false
        var samples: [Sample] = []
        /// Each one's last change.
        var newest: [Int] = []
        /// Changes that a watcher was spared, having been given a newer one.
        var conflated = 0
        /// By how much the changes were sent late (p99).
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

    /// What they have come to. The samples are complete once they have settled.
    var now: State { state.withLock { $0 } }

    func order(_ order: Order) { state.withLock { $0.order = order } }

    func update(_ change: (inout sending State) -> Void) { state.withLock { change(&$0) } }

    /// Starts their thread, which ends when they are told to leave, or fail.
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
