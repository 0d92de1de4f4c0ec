import Foundation

extension PresenceClient {
    /// The server's clock as known when ``PresenceClient/serverTime`` returned this value. It keeps running.
    public struct ServerTime: Sendable {
        private let read: @Sendable () -> Date

        init(clock: ServerClock, time: any Timekeeper) {
            read = { clock.date(at: time.now) }
        }

        /// A clock supplied by a test.
        package init(_ read: @escaping @Sendable () -> Date) {
            self.read = read
        }

        /// The device's own clock, used before the first connection.
        public init() {
            self.init(clock: ServerClock(), time: SystemTime())
        }

        /// The current date by the server's clock.
        public var now: Date { read() }
    }
}
