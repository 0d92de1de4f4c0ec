import Foundation

/// How a change came here: when the server made it, and when it was received.
public struct Arrival: Codable, Hashable, Sendable {
    /// When the server made the change, by its clock.
    public var madeAt: Date
    /// When it was received here, in terms of the server's clock.
    public var receivedAt: Date

    /// How long the change took; exact where the two clocks agree, else within half a round trip of the connect.
    public var latency: Duration { .seconds(max(0, receivedAt.timeIntervalSince(madeAt))) }

    /// Makes an arrival of two dates by the server's clock.
    public init(madeAt: Date, receivedAt: Date) {
        self.madeAt = madeAt
        self.receivedAt = receivedAt
    }
}
