import Foundation
import PresenceProtocol

/// The time of one turn, read once: what a session is told with everything that happens.
struct Moment: Hashable, Sendable {
    /// Monotonic, counted from the client's beginning; it goes on while the device sleeps. Deadlines are of this kind.
    var uptime: Duration
    /// What the device's own clock shows, right or wrong.
    var wall: Date
}

/// Tells the time and waits for it: the machine's, or a test's.
protocol Timekeeper: Sendable {
    var now: Moment { get }
    /// Returns when `uptime` has come; throws when the task is cancelled.
    func sleep(until uptime: Duration) async throws
}

/// The time of this machine.
struct SystemTime: Timekeeper {
    private let beginning = ContinuousClock.now

    var now: Moment { Moment(uptime: ContinuousClock.now - beginning, wall: Date()) }

    func sleep(until uptime: Duration) async throws {
        try await Task.sleep(until: beginning + uptime, tolerance: nil, clock: .continuous)
    }
}

extension Duration {
    /// A duration of the protocol, in milliseconds, rounded down.
    var milliseconds: Milliseconds {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// For arithmetic with dates; exact to the microsecond for years.
    var timeInterval: TimeInterval {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
