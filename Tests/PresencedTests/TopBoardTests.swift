import Expectations
import Foundation
import Testing

@testable import presenced

/// The text of `presenced top` for given numbers and times.
@Suite struct TopBoardTests {
    private static func metrics(_ more: [String: Double] = [:]) -> MetricsText {
        let values = ["connections": 12_345, "live": 2, "redis_commands_pending": 3, "sessions_untold": 0].merging(more)
        { $1 }
        return MetricsText(
            "# HELP presence_live how many\n" + values.map { "presence_\($0) \($1)\n" }.joined()
                + "presence_build_info{version=\"1.2\"} 1\n")
    }

    private static func board(_ samples: [(Double, [String: Double])]) -> TopBoard {
        var board = TopBoard(TopRow.all(outboxBytes: 1_000))
        for (at, values) in samples { board.add(metrics(values), at: at) }
        return board
    }

    private func line(_ board: TopBoard, _ name: String) -> String? {
        // Faults stand above the numbers.
        board.lines("", width: 120, isColoured: false).last { $0.hasPrefix(name) }
    }

    @Test func `all is well, with each number in its line`() throws {
        let board = Self.board([(0, ["events_in_total": 100]), (1, ["events_in_total": 350])])
        expect(board.isWell && board.version == "1.2")
        let lines = board.lines("3 users here", width: 120, isColoured: false)
        expect(lines[0...1], equals: ["All is well.", "3 users here"])
        try expect(#require(line(board, "Connections")).contains("    12,345  "))
        try expect(#require(line(board, "Changes")).contains(" 250/s  "))
        try expect(#require(line(board, "Commands waiting")).hasSuffix("at most 1,000"))
        // There is no value.
        try expect(#require(line(board, "Redis, 99 %")).contains(" –  "))
        expect(board.lines("", width: 60, isColoured: false).allSatisfy { $0.count <= 60 })
        expect(Self.board([]).lines("", width: 80, isColoured: false) == ["Reading…"] && !Self.board([]).isWell)
    }

    @Test func `a value beyond its bound is an alert after its time, unless it ends`() throws {
        var board = Self.board([(0, ["sessions_untold": 4])])
        expect(board.isWell)
        try expect(#require(line(board, "Not stored yet")).hasSuffix("at most 0; alert in 60 s"))
        board.add(Self.metrics(["sessions_untold": 1]), at: 59)
        expect(board.isWell)
        try expect(#require(line(board, "Not stored yet")).hasSuffix("at most 0; alert in 1 s"))
        board.add(Self.metrics(["sessions_untold": 1]), at: 60)
        expect(board.faults.map(\.text), equals: ["not stored yet 1, at most 0 (PresenceSessionsUntold)"])
        board.add(Self.metrics(), at: 61)
        expect(board.isWell)
        board.add(Self.metrics(["sessions_untold": 1]), at: 62)
        expect(board.isWell)
        try expect(#require(line(board, "Not stored yet")).hasSuffix("at most 0; alert in 60 s"))
    }

    @Test func `values without a line are named once their alert is`() {
        var board = Self.board([(0, ["disk_reserve_bytes": 10, "disk_free_bytes": 9])])
        expect(board.isWell)
        board.add(Self.metrics(["disk_reserve_bytes": 10, "disk_free_bytes": 9]), at: 60)
        expect(board.faults.map(\.text), equals: ["the disk is almost full: uploads are refused (PresenceDiskLow)"])
        board.add(Self.metrics(["disk_reserve_bytes": 10, "disk_free_bytes": 10]), at: 61)
        expect(board.isWell)
        let soon = Date().timeIntervalSince1970 + 86_400
        board.add(Self.metrics(["tls_certificate_expiry_timestamp_seconds": soon]), at: 62)
        expect(
            board.faults.map(\.text), equals: ["the certificate expires within 14 days (PresenceCertificateExpires)"])
        board.add(Self.metrics(["tls_certificate_expiry_timestamp_seconds": soon + 14 * 86_400]), at: 63)
        expect(board.isWell)
    }

    @Test func `without Redis the fault is named, and its numbers are not shown`() {
        var board = Self.board([(0, [:]), (1, ["live": 1])])
        expect(board.faults.map(\.text), equals: ["some shards do not reach Redis (PresencePartlyStale)"])
        expect(board.faults.map(\.state), equals: [.near(300)])
        expect(board.lines("", width: 120, isColoured: false)[0].hasSuffix("(PresencePartlyStale): an alert in 300 s"))
        board.add(Self.metrics(["live": 0, "redis_commands_pending": 5_000]), at: 2)
        expect(board.faults.map(\.text), equals: ["no shard reaches Redis: clients see stale data (PresenceStale)"])
        expect(line(board, "Commands waiting")?.contains(" –  ") ?? false)
    }

    @Test func `a counter that grew is a fault for its time, also after a restart`() {
        let name = #"errors_total{code="internal"}"#
        var board = Self.board([(0, [name: 5]), (1, [name: 5])])
        expect(board.isWell)
        board.add(Self.metrics([name: 6]), at: 2)
        expect(board.faults.map(\.text), equals: ["a request met a fault of the server (PresenceInternalErrors)"])
        board.add(Self.metrics([name: 6]), at: 901)
        expect(!board.isWell)
        board.add(Self.metrics([name: 6]), at: 902)
        expect(board.isWell)
        board.add(Self.metrics([name: 0]), at: 903)
        expect(board.isWell)
        board.add(Self.metrics([name: 1]), at: 904)
        expect(!board.isWell)
        // A counter that may grow a little, and one of two that count together.
        board = Self.board([(0, ["stale_total": 1]), (1, ["stale_total": 6])])
        expect(board.isWell)
        board.add(Self.metrics(["stale_total": 7]), at: 2)
        expect(board.faults.map(\.text), equals: ["the server often loses Redis (PresenceOftenStale)"])
        board = Self.board([(0, ["pushes_given_up_total": 0]), (1, ["pushes_given_up_total": 1])])
        expect(board.faults.map(\.text), equals: ["pushes were lost (PresencePushesLost)"])
    }

    @Test func `numbers that cannot be read are a fault`() {
        var board = Self.board([(0, [:]), (1, [:])])
        board.failure = "no connection to the server"
        expect(!board.isWell)
        expect(
            board.lines("", width: 120, isColoured: false),
            equals: ["The numbers cannot be read: no connection to the server (PresenceNoServer)"])
        board.add(Self.metrics(), at: 2)
        expect(board.isWell)
    }

    @Test func `a quantile is of the growth in half a minute`() throws {
        func buckets(_ few: Double, _ all: Double) -> [String: Double] {
            [
                #"change_to_write_seconds_bucket{le="0.001"}"#: few, #"change_to_write_seconds_bucket{le="2"}"#: all,
                #"change_to_write_seconds_bucket{le="+Inf"}"#: all,
            ]
        }
        var board = Self.board([(0, buckets(100, 100)), (1, buckets(200, 200))])
        try expect(#require(line(board, "Delay, 99 %")).contains(" 1 ms  "))
        board.add(Self.metrics(buckets(200, 210)), at: 2)
        try expect(#require(line(board, "Delay, 99 %")).contains(" 2,000 ms  "))
        try expect(#require(line(board, "Delay, 99 %")).hasSuffix("alert in 600 s"))
        // Without a new value the state stays.
        board.add(Self.metrics(buckets(200, 210)), at: 40)
        try expect(#require(line(board, "Delay, 99 %")).contains(" –  "))
        try expect(#require(line(board, "Delay, 99 %")).hasSuffix("alert in 562 s"))
    }

    @Test func `lines of the last minute end at now`() {
        expect(TopBoard.spark([1, nil, 0, 4], width: 6), equals: "  ▂ ▁█")
        expect(TopBoard.spark([0, 0], width: 2), equals: "▁▁")
        expect(
            TopRow.bytes(1_536) == "1.5 KiB" && TopRow.short(0.25) == "0.25" && TopRow.whole(1_234_567) == "1,234,567")
    }

    private static func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Those in the rules for Prometheus.
    @Test func `bounds and times are those of the alerts`() throws {
        let rules = try Self.file("config/prometheus/presence.rules.yaml")
        func rule(_ name: String) throws -> Substring {
            let start = try #require(rules.range(of: "alert: \(name)\n")).upperBound
            return rules[start...].split(separator: "annotations:", maxSplits: 1)[0]
        }
        func seconds(_ times: [(time: Substring, unit: Substring)]) -> Double {
            times.reduce(0) { $0 + (Double($1.time) ?? 0) * ($1.unit == "h" ? 3_600 : 60) }
        }
        for alert in TopRow.alerts(outboxBytes: 268_435_456) {
            let text = try rule(alert.name)
            let times = text.matches(of: /(?:for: |min_over_time.*\[)(\d+)([mh])/).map { ($0.1, $0.2) }
            expect(seconds(times), equals: alert.hold, "\(alert.name)")
            guard let found = text.firstMatch(of: /expr: .* > ([\d.]+)(?: \* (\d+))?\n/)?.output else { continue }
            let bound = try #require(Double(found.1)) * (found.2.flatMap { Double($0) } ?? 1)
            expect(bound, equals: alert.bound, "\(alert.name)")
        }
        try expect(rule("PresenceDiskLow").contains("disk_free_bytes < presence_disk_reserve_bytes\n"))
        try expect(rule("PresenceCertificateExpires").contains("- time() < 14 * 86400\n"))
        for counter in TopCounter.all {
            let text = try rule(counter.alert)
            let most = try #require(text.firstMatch(of: /\ > (\d+)\n/)?.1)
            let found = text.matches(of: /increase\(presence_(.+?)\[(\d+)([mh])\]/).map(\.output)
            let metrics = found.flatMap { Self.metrics(in: $0.1) }
            expect(metrics == counter.metrics && !text.contains("for:"), "\(counter.alert)")
            expect(found.allSatisfy { seconds([($0.2, $0.3)]) == counter.seconds }, "\(counter.alert)")
            expect(Double(most), equals: counter.most, "\(counter.alert)")
        }
    }

    /// One for each value of a label that is matched by a pattern: `name{label=~"a|b"}`.
    private static func metrics(in text: Substring) -> [String] {
        guard let found = text.firstMatch(of: /(.*)=~"(.*)"\}/)?.output else { return [String(text)] }
        return found.2.split(separator: "|").map { "\(found.1)=\"\($0)\"}" }
    }

    /// Those of the console's page.
    @Test func `it judges the same alerts as the console`() throws {
        func names(_ text: String) -> Set<String> { Set(text.matches(of: /Presence[A-Z]\w+/).map { String($0.0) }) }
        let page = try names(Self.file("web/console/alerts.js")).union(names(Self.file("web/console/verdict.js")))
        let alerts = TopRow.alerts(outboxBytes: 1).map(\.name) + TopCounter.all.map(\.alert)
        expect(page, equals: Set(alerts + ["PresenceStale", "PresenceNoServer"]))
    }
}
