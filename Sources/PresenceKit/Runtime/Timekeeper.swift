import Foundation

/// A clock with sleep: the machine's, or a test's.
protocol Timekeeper: Sendable {
    var now: Moment { get }
    /// Returns at `uptime`; throws when the task is cancelled.
    func sleep(until uptime: Duration) async throws
}

/// The clock of this machine.
struct SystemTime: Timekeeper {
    private let beginning = ContinuousClock.now

    var now: Moment { Moment(uptime: ContinuousClock.now - beginning, wall: Date()) }

    func sleep(until uptime: Duration) async throws {
        try await Task.sleep(until: beginning + uptime, tolerance: nil, clock: .continuous)
    }
}
