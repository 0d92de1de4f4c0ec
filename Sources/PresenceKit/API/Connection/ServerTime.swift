import Foundation

/// The server's clock, as far as it was known when ``PresenceClient/serverTime`` gave this: it goes on by itself.
public struct ServerTime: Sendable {
    private let clock: ServerClock
    private let time: any Timekeeper

    init(clock: ServerClock, time: any Timekeeper) {
        self.clock = clock
        self.time = time
    }

    /// The device's own clock: what is known before the first connection.
    public init() {
        self.init(clock: ServerClock(), time: SystemTime())
    }

    /// The date there, now.
    public var now: Date { clock.date(at: time.now) }
}
