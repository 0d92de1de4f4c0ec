import Foundation
import PresenceProtocol

/// The server's clock as far as a client can know it: set at each `connected`, carried on by the monotonic clock.
///
/// If what the server said lies between the device's times of asking and of hearing, the two clocks agree as far as
/// anybody can tell, and the device's is taken: then latencies are exact. Else the server's time is taken to belong to
/// the middle of that span, which is wrong by half of it at most.
struct ServerClock: Sendable {
    /// The server's time at `uptime`; `nil` before the first connection.
    private var base: (date: Date, uptime: Duration)?

    /// Times on the wire are whole milliseconds, rounded down.
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

    /// The server's time at `moment`; the device's own before the first connection.
    func date(at moment: Moment) -> Date {
        guard let base else { return moment.wall }
        return base.date.addingTimeInterval((moment.uptime - base.uptime).timeInterval)
    }
}
