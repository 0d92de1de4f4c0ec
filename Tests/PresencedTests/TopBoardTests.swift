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
        #expect(board.isWell && board.version == "1.2")
        let lines = board.lines("3 users here", width: 120, isColoured: false)
        #expect(lines[0...1] == ["All is well.", "3 users here"])
        #expect(try #require(line(board, "Connections")).contains("    12,345  "))
        #expect(try #require(line(board, "Changes")).contains(" 250/s  "))
        #expect(try #require(line(board, "Commands waiting")).hasSuffix("at most 1,000"))
        // There is no value.
        #expect(try #require(line(board, "Redis, 99 %")).contains(" –  "))
        #expect(board.lines("", width: 60, isColoured: false).allSatisfy { $0.count <= 60 })
        #expect(Self.board([]).lines("", width: 80, isColoured: false) == ["Reading…"] && !Self.board([]).isWell)
    }

    @Test func `a value beyond its bound is an alert after its time, unless it ends`() throws {
        var board = Self.board([(0, ["sessions_untold": 4])])
        #expect(board.faults.map(\.state) == [.near(60)] && !board.isWell)
        board.add(Self.metrics(["sessions_untold": 1]), at: 59)
        #expect(board.faults.map(\.state) == [.near(1)])
        #expect(
            board.lines("", width: 120, isColoured: false)[0].hasSuffix("(PresenceSessionsUntold): an alert in 1 s"))
        board.add(Self.metrics(["sessions_untold": 1]), at: 60)
        #expect(board.faults.map(\.state) == [.bad])
        board.add(Self.metrics(), at: 61)
        #expect(board.isWell)
        board.add(Self.metrics(["sessions_untold": 1]), at: 62)
        #expect(board.faults.map(\.state) == [.near(60)])
    }

    @Test func `without Redis the fault is named, and its numbers are not shown`() {
        var board = Self.board([(0, [:]), (1, ["live": 1])])
        #expect(board.faults.map(\.text) == ["some shards do not reach Redis (PresencePartlyStale)"])
        board.add(Self.metrics(["live": 0, "redis_commands_pending": 5_000]), at: 2)
        #expect(board.faults.map(\.text) == ["no shard reaches Redis: clients see stale data (PresenceStale)"])
        #expect(line(board, "Commands waiting")?.contains(" –  ") ?? false)
    }

    @Test func `a counter that grew is a fault for its time, also after a restart`() {
        let name = #"errors_total{code="internal"}"#
        var board = Self.board([(0, [name: 5]), (1, [name: 5])])
        #expect(board.isWell)
        board.add(Self.metrics([name: 6]), at: 2)
        #expect(board.faults.map(\.text) == ["a request met a fault of the server (PresenceInternalErrors)"])
        board.add(Self.metrics([name: 6]), at: 901)
        #expect(!board.isWell)
        board.add(Self.metrics([name: 6]), at: 902)
        #expect(board.isWell)
        board.add(Self.metrics([name: 0]), at: 903)
        #expect(board.isWell)
        board.add(Self.metrics([name: 1]), at: 904)
        #expect(!board.isWell)
    }

    @Test func `numbers that cannot be read are a fault`() {
        var board = Self.board([(0, [:]), (1, [:])])
        board.failure = "no connection to the server"
        #expect(!board.isWell)
        #expect(
            board.lines("", width: 120, isColoured: false)
                == ["The numbers cannot be read: no connection to the server (PresenceNoServer)"])
        board.add(Self.metrics(), at: 2)
        #expect(board.isWell)
    }

    @Test func `a quantile is of the growth in half a minute`() throws {
        func buckets(_ few: Double, _ all: Double) -> [String: Double] {
            [
                #"change_to_write_seconds_bucket{le="0.001"}"#: few, #"change_to_write_seconds_bucket{le="2"}"#: all,
                #"change_to_write_seconds_bucket{le="+Inf"}"#: all,
            ]
        }
        var board = Self.board([(0, buckets(100, 100)), (1, buckets(200, 200))])
        #expect(try #require(line(board, "Delay, 99 %")).contains(" 1 ms  "))
        board.add(Self.metrics(buckets(200, 210)), at: 2)
        #expect(try #require(line(board, "Delay, 99 %")).contains(" 2,000 ms  "))
        #expect(board.faults.map(\.state) == [.near(600)])
        // Without a new value the fault stays.
        board.add(Self.metrics(buckets(200, 210)), at: 40)
        #expect(try #require(line(board, "Delay, 99 %")).contains(" –  "))
        #expect(board.faults.map(\.state) == [.near(562)])
    }

    @Test func `lines of the last minute end at now`() {
        #expect(TopBoard.spark([1, nil, 0, 4], width: 6) == "  ▂ ▁█")
        #expect(TopBoard.spark([0, 0], width: 2) == "▁▁")
        #expect(
            TopRow.bytes(1_536) == "1.5 KiB" && TopRow.short(0.25) == "0.25" && TopRow.whole(1_234_567) == "1,234,567")
    }

    /// Those in the rules for Prometheus.
    @Test func `bounds and times are those of the alerts`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let rules = try String(
            contentsOf: root.appending(path: "config/prometheus/presence.rules.yaml"), encoding: .utf8)
        func rule(_ name: String) throws -> Substring {
            let start = try #require(rules.range(of: "alert: \(name)\n")).upperBound
            return rules[start...].split(separator: "annotations:", maxSplits: 1)[0]
        }
        for alert in [TopRow.slow, TopRow.overloaded, TopRow.redisSlow, TopRow.untold] {
            let text = try rule(alert.name)
            let bound = try #require(text.firstMatch(of: /expr: .* > ([\d.]+)\n/)?.1)
            let minutes = try #require(text.firstMatch(of: /for: (\d+)m/)?.1)
            #expect(Double(bound) == alert.bound && Double(minutes).map { $0 * 60 } == alert.hold, "\(alert.name)")
        }
        let outboxes = try rule("PresenceOutboxesFull")
        #expect(outboxes.contains("> \(TopRow.outboxesShare) * ") && outboxes.contains("for: 5m"))
        for counter in TopBoard.counters {
            let text = try rule(counter.alert)
            let (_, metric, time, unit) = try #require(
                text.firstMatch(of: /increase\(presence_(.+?)\[(\d+)([mh])\]/)?.output)
            #expect(metric == counter.metric && !text.contains("for:"), "\(counter.alert)")
            #expect(Double(time).map { $0 * (unit == "h" ? 3_600 : 60) } == counter.seconds, "\(counter.alert)")
        }
    }
}
