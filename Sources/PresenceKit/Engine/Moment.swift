import Foundation
import PresenceProtocol

/// The time of one turn, read once: what the engine is told with every input.
struct Moment: Hashable, Sendable {
    /// Monotonic, counted from the client's beginning; it goes on while the device sleeps. Deadlines are of this kind.
    var uptime: Duration
    /// What the device's own clock shows, right or wrong.
    var wall: Date
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
