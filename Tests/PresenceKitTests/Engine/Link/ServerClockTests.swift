import Expectations
import Foundation
import Testing

@testable import PresenceKit

@Suite struct ServerClockTests {
    private var clock = ServerClock()
    private static let wall = Date(timeIntervalSince1970: 1_763_712_000)

    private static func moment(_ milliseconds: Int, off: TimeInterval = 0) -> Moment {
        Moment(
            uptime: .milliseconds(milliseconds),
            wall: wall + TimeInterval(milliseconds) / 1_000 + off)
    }

    @Test func `before the first connection the device's own clock is used`() {
        expect(clock.date(at: Self.moment(500)), equals: Self.wall + 0.5)
    }

    @Test mutating func `clocks that agree are not adjusted`() {
        clock.set(to: 1_763_712_000_000, asked: Self.moment(0), heard: Self.moment(40))
        expect(clock.date(at: Self.moment(40)), equals: Self.wall + 0.04)
        expect(clock.date(at: Self.moment(1_040)), equals: Self.wall + 1.04)
    }

    @Test mutating func `a millisecond lost by rounding is no disagreement`() {
        clock.set(to: 1_763_711_999_999, asked: Self.moment(0), heard: Self.moment(40))
        expect(clock.date(at: Self.moment(40)), equals: Self.wall + 0.04)
    }

    @Test(arguments: [-7_200, -0.5, 0.5, 86_400]) mutating func `a device with a wrong clock uses the server's`(
        off: TimeInterval
    ) {
        clock.set(
            to: 1_763_712_000_020, asked: Self.moment(0, off: off), heard: Self.moment(40, off: off))
        let date = clock.date(at: Self.moment(40, off: off))
        expect(abs(date.timeIntervalSince(Self.wall + 0.04)) < 0.000_1)
    }

    @Test mutating func `setting the device's clock later has no effect`() {
        clock.set(to: 1_763_712_000_000, asked: Self.moment(0), heard: Self.moment(40))
        expect(clock.date(at: Self.moment(1_000, off: 3_600)), equals: Self.wall + 1)
    }
}
