import Foundation
import PresenceProtocol

/// An estimate of the server's clock: set at each `connected`, and continued by the monotonic clock.
///
/// If the server's time lies between the device's times of request and reply, the two clocks agree as far as a client
/// can know, and the device's clock is used: latencies are then exact. Otherwise the server's time is assigned to the
/// middle of that interval, with an error of at most half the interval.
struct ServerClock: Sendable {
    /// The server's time at `uptime`; `nil` before the first connection.
    private var base: (date: Date, uptime: Duration)?

    /// Timestamps in messages are whole milliseconds, rounded down.
    private static let granularity: TimeInterval = 0.001

    mutating func set(to serverTime: Timestamp, asked: Moment, heard: Moment) {
        let server = Date(timestamp: serverTime)
        let agree = server >= asked.wall.addingTimeInterval(-Self.granularity) && server <= heard.wall
        if agree {
            base = (heard.wall, heard.uptime)
        } else {
            let half = (heard.uptime - asked.uptime) / 2
            base = (server.addingTimeInterval(half.timeInterval), heard.uptime)
        }
    }

    /// The server's time at `moment`. Before the first connection, the device's own time.
    func date(at moment: Moment) -> Date {
        guard let base else { return moment.wall }
        return base.date.addingTimeInterval((moment.uptime - base.uptime).timeInterval)
    }
}
