import Expectations
import Foundation
import Testing

@testable import PresenceServer

/// The system's tz data as the server reads them, against known changes of clocks.
@Suite struct ZoneRulesTests {
    private func rules(_ name: String) throws -> ZoneRules {
        try #require(ZoneRules(Array(try Data(contentsOf: URL(filePath: "\(Zones.folder)/\(name)")))))
    }

    /// ISO 8601, in UTC, as seconds since 1970.
    private func seconds(_ text: String) throws -> Int64 {
        Int64(try #require(ISO8601DateFormatter().date(from: text)).timeIntervalSince1970)
    }

    @Test(arguments: [
        ("Europe/Berlin", "2026-03-29T00:59:59Z", 3_600), ("Europe/Berlin", "2026-03-29T01:00:00Z", 7_200),
        ("Europe/Berlin", "2026-10-25T00:59:59Z", 7_200), ("Europe/Berlin", "2026-10-25T01:00:00Z", 3_600),
        ("America/New_York", "2026-03-08T07:00:00Z", -14_400), ("America/New_York", "2026-11-01T06:00:00Z", -18_000),
        ("Australia/Lord_Howe", "2026-10-03T15:29:59Z", 37_800),
        ("Australia/Lord_Howe", "2026-10-03T15:30:00Z", 39_600),
        ("Asia/Kathmandu", "2026-06-01T00:00:00Z", 20_700), ("Europe/Dublin", "2026-07-01T00:00:00Z", 3_600),
        ("Europe/Dublin", "2026-01-01T00:00:00Z", 0), ("UTC", "2026-01-01T00:00:00Z", 0),
        ("Etc/GMT+5", "2026-01-01T00:00:00Z", -18_000),
    ]) func `clocks change when they do`(name: String, time: String, offset: Int64) throws {
        try expect(rules(name).offset(at: seconds(time)), equals: offset)
    }

    @Test func `beyond the listed changes the yearly rule continues`() throws {
        let rules = try rules("Europe/Berlin")
        try expect(rules.offset(at: seconds("2061-07-01T00:00:00Z")), equals: 7_200)
        try expect(rules.offset(at: seconds("2061-12-01T00:00:00Z")), equals: 3_600)
    }

    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7_200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3_600),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-07-01T00:00:00Z", -14_400),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00Z", 0),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00:00Z", 3_600),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-07-01T00:00:00Z", -3_600),
        ("<+0545>-5:45", "2026-07-01T00:00:00Z", 20_700),
        ("AAA3BBB,J60/0,300", "2028-03-01T03:00:00Z", -7_200), ("AAA3BBB,J60/0,300", "2028-03-01T02:59:59Z", -10_800),
    ]) func `a yearly rule is read as POSIX writes it`(rule: String, time: String, offset: Int64) throws {
        try expect(YearlyRule(rule)?.offset(at: seconds(time)), equals: offset)
    }

    @Test(arguments: [
        "", "CE-1", "CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0/3x",
    ])
    func `a rule that is none is refused`(rule: String) { expect(YearlyRule(rule) == nil) }

    @Test func `a damaged file is refused`() throws {
        let whole = Array(try Data(contentsOf: URL(filePath: "\(Zones.folder)/Europe/Berlin")))
        for length in stride(from: 0, to: whole.count - 40, by: 7) {
            expect(ZoneRules(Array(whole.prefix(length))) == nil)
        }
        expect(ZoneRules(Array("no zone, but long enough for a head of 44 bytes at least".utf8)) == nil)
        var wild = whole
        for place in 20..<44 { wild[place] = 0xFF }
        expect(ZoneRules(wild) == nil)
    }

    @Test func `all files of this system can be read`() throws {
        for name in TimeZone.knownTimeZoneIdentifiers
        where FileManager.default.fileExists(atPath: "\(Zones.folder)/\(name)") {
            #expect(throws: Never.self, "\(name)") { _ = try rules(name) }
        }
    }
}
