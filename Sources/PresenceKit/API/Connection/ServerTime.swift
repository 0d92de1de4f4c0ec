import Foundation

/// The server's clock, as far as it was known when ``PresenceClient/serverTime`` gave this: it goes on by itself.
public struct ServerTime: Sendable {
    private let read: @Sendable () -> Date

    init(clock: ServerClock, time: any Timekeeper) {
        read = { clock.date(at: time.now) }
    }

    /// A clock of a test's own.
    package init(_ read: @escaping @Sendable () -> Date) {
        self.read = read
    }

    /// The device's own clock: what is known before the first connection.
    public init() {
        self.init(clock: ServerClock(), time: SystemTime())
    }

    /// The date there, now.
    public var now: Date { read() }
}
