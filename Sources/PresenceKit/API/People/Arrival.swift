import Foundation

/// The times at which the server made a change and this client received it.
public struct Arrival: Codable, Hashable, Sendable {
    /// When the server made the change, by its clock.
    public var madeAt: Date
    /// When this client received the change, converted to the server's clock.
    public var receivedAt: Date

    /// How long the change took. Exact if both clocks agree, otherwise within half of the round trip measured at
    /// connect.
    public var latency: Duration { .seconds(max(0, receivedAt.timeIntervalSince(madeAt))) }

    /// Creates an arrival from two dates by the server's clock.
    public init(madeAt: Date, receivedAt: Date) {
        self.madeAt = madeAt
        self.receivedAt = receivedAt
    }
}
