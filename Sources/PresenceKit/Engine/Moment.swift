import Foundation
import PresenceProtocol

/// The time of one turn, read once and passed to the engine with every input.
struct Moment: Hashable, Sendable {
    /// Monotonic, since the client's creation. It continues while the device sleeps. Deadlines use it.
    var uptime: Duration
    /// The device's clock, which may be wrong.
    var wall: Date
}

extension Duration {
    /// The duration in the protocol's milliseconds, rounded down.
    var milliseconds: Milliseconds {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// For arithmetic with dates. Exact to the microsecond over years.
    var timeInterval: TimeInterval {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
