import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceServer

@Suite struct QuietHoursTests {
    private func zone(_ name: String) throws -> ZoneRules {
        try #require(ZoneRules(Array(try Data(contentsOf: URL(filePath: "\(Zones.folder)/\(name)")))))
    }

    private func time(_ text: String) throws -> Timestamp {
        Timestamp(try #require(ISO8601DateFormatter().date(from: text)).timeIntervalSince1970) * 1_000
    }

    private func hours(_ from: String, _ to: String, days: [Int64] = Array(1...7)) throws -> QuietHours {
        QuietHours(
            timezone: "Europe/Berlin", from: try #require(.init(from)), to: try #require(.init(to)), days: days,
            allow: [])
    }

    /// 25 November 2026 is a Wednesday.
    @Test(
        arguments: [
            ("2026-11-25T20:59:59+00:00", nil), ("2026-11-25T21:00:00+00:00", "2026-11-26T06:00:00+00:00"),
            ("2026-11-26T05:59:59+00:00", "2026-11-26T06:00:00+00:00"), ("2026-11-26T06:00:00+00:00", nil),
            // The night of a change has an hour less, or one more.
            ("2026-03-28T21:00:00+00:00", "2026-03-29T05:00:00+00:00"), ("2026-03-29T05:00:00+00:00", nil),
            ("2026-10-24T20:00:00+00:00", "2026-10-25T06:00:00+00:00"),
            ("2026-10-25T05:59:59+00:00", "2026-10-25T06:00:00+00:00"),
        ] as [(String, String?)])
    func `a night is from ten to seven by the clocks of its zone`(now: String, end: String?) throws {
        try expect(hours("22:00", "07:00").end(at: time(now), in: zone("Europe/Berlin")), equals: end.map(time))
    }

    @Test func `a day is that on which a period begins`() throws {
        // Friday night reaches into Saturday; Saturday night is none of it.
        let (friday, berlin) = (try hours("22:00", "07:00", days: [5]), try zone("Europe/Berlin"))
        try expect(friday.end(at: time("2026-11-28T03:00:00Z"), in: berlin), equals: time("2026-11-28T06:00:00Z"))
        try expect(friday.end(at: time("2026-11-28T22:00:00Z"), in: berlin), equals: nil)
        try expect(friday.end(at: time("2026-11-27T03:00:00Z"), in: berlin), equals: nil)
    }

    @Test func `periods without a gap end together`() throws {
        let berlin = try zone("Europe/Berlin")
        let weekend = try hours("00:00", "00:00", days: [6, 7])
        try expect(weekend.end(at: time("2026-11-28T12:00:00Z"), in: berlin), equals: time("2026-11-29T23:00:00Z"))
        try expect(weekend.end(at: time("2026-11-30T12:00:00Z"), in: berlin), equals: nil)
        let always = try #require(try hours("00:00", "00:00").end(at: time("2026-11-28T12:00:00Z"), in: berlin))
        try expect(always > time("2026-12-04T12:00:00Z"))
    }

    @Test func `quiet wins where a time comes twice, or not at all`() throws {
        let berlin = try zone("Europe/Berlin")
        // 02:30 comes at 00:30 and at 01:30 UTC.
        try expect(
            hours("22:00", "02:30").end(at: time("2026-10-25T01:00:00Z"), in: berlin),
            equals: time("2026-10-25T01:30:00Z"))
        try expect(
            hours("02:30", "03:30").end(at: time("2026-10-25T00:45:00Z"), in: berlin),
            equals: time("2026-10-25T02:30:00Z"))
        // 02:30 is left out: it is 03:30.
        try expect(
            hours("22:00", "02:30").end(at: time("2026-03-29T01:15:00Z"), in: berlin),
            equals: time("2026-03-29T01:30:00Z"))
    }

    @Test func `who travels has the hours of another zone`() throws {
        let hours = try hours("22:00", "07:00")
        let now = try time("2026-11-25T23:00:00Z")
        try expect(hours.end(at: now, in: zone("Europe/Berlin")) != nil)
        try expect(hours.end(at: now, in: zone("America/New_York")), equals: nil)
    }

    @Test func `urgent ones pass quiet hours that allow them, and busy users hold them`() throws {
        var settings = NotificationSettings()
        settings.quiet = QuietHours(
            timezone: "UTC", from: .init("00:00")!, to: .init("00:00")!, days: Array(1...7), allow: [.urgent])
        let (now, utc) = (try time("2026-11-25T23:00:00Z"), try zone("UTC"))
        expect(settings.hold(at: now, isBusy: false, isUrgent: true, in: utc), equals: nil)
        expect(
            settings.hold(at: now, isBusy: false, isUrgent: false, in: utc),
            equals: now + NotificationSettings.longestHold)
        expect(settings.hold(at: now, isBusy: true, isUrgent: true, in: utc), equals: nil)
        settings.whileBusy = .hold
        expect(settings.hold(at: now, isBusy: true, isUrgent: true, in: utc) != nil)
        expect(settings.hold(at: now, isBusy: false, isUrgent: false, in: nil), equals: nil)
    }

    @Test(arguments: ["22:0", "2200", "24:00", "12:60", "-1:00", "1२:00", "22:00:00", ""]) func `a time is HH and MM`(
        text: String
    ) {
        expect(QuietHours.Time(text), equals: nil)
    }

    @Test func `settings are stored as they are read`() throws {
        var settings = NotificationSettings()
        settings.kinds = ["order": .init(inbox: true, push: false), #"a"b\"#: .init(inbox: false, push: true)]
        settings.messages.groups = .none
        settings.quiet = try hours("22:00", "07:30", days: [1, 7])
        (settings.preview, settings.whileBusy) = (false, .hold)
        expect(NotificationSettings(stored: settings.stored), equals: settings)
        expect(NotificationSettings(stored: ""), equals: NotificationSettings())
        expect(!NotificationSettings(stored: "{\"kinds\":7").preview)
    }
}
