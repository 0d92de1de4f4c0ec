import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import presence_load

@Suite struct FanoutTests {
    @Test func `a change is recognised by its number, and nothing else is`() {
        expect(NumberedText.number(in: NumberedText.text(42)), equals: 42)
        for text in [nil, "", "change", "change x", "In a meeting"] as [String?] {
            expect(NumberedText.number(in: text), equals: 0)
        }
    }

    @Test func `changes that were skipped are conflated, not lost, and an older one is noticed`() {
        var sightings = Sightings(watchers: 2, changers: 3)
        func see(_ number: Int, of changer: Int) -> Sightings.Sighting { sightings.see(number, of: changer, by: 1) }
        expect(see(1, of: 2), equals: .new(conflated: 0))
        expect(see(5, of: 2), equals: .new(conflated: 3))
        expect(see(5, of: 2), equals: .again)
        expect(see(4, of: 2), equals: .older)
        expect(see(1, of: 1), equals: .new(conflated: 0), "every changer is counted apart")
        expect(sightings.missing(5, of: 2), equals: [0])
        expect(sightings.missing(1, of: 1), equals: [0])
    }

    @Test func `a changer knows how many watchers lack the newest change`() {
        var changer = Changer(user: "p")
        let start = Instant(nanoseconds: 10)
        func change(_ intended: Instant) -> Int { changer.change(intended: intended, watchers: 2) }
        expect(change(start), equals: 1)
        changer.reached()
        expect(changer.awaited, equals: 1)
        expect(change(start + 5), equals: 2)
        expect(changer.awaited, equals: 2)
        expect(changer.intended[1] - changer.intended[0], equals: 5)
    }

    @Test func `everyone's newest change is awaited for all who have not seen it`() {
        var broadcast = Broadcast(changers: 2, watchers: 2, expectsAnswers: true)
        let start = Instant(nanoseconds: 10)
        let first = broadcast.change(of: 1, intended: start)
        expect(broadcast.see(first, by: 0, at: start + 4), equals: Broadcast.Receipt(latency: 4, conflated: 0))
        expect(broadcast.see(first, by: 0, at: start + 5), equals: nil, "again")
        expect(broadcast.awaited, equals: 1)
        let second = broadcast.change(of: 1, intended: start + 5)
        expect(broadcast.awaited, equals: 2)
        expect(broadcast.idle(after: 0), equals: 0)
        expect(broadcast.see(second, by: 1, at: start + 7), equals: Broadcast.Receipt(latency: 2, conflated: 1))
        expect(broadcast.see(first, by: 1, at: start + 8), equals: nil)
        expect(broadcast.older, equals: 1)
        expect(broadcast.missing(of: 1), equals: [0])
        expect(broadcast.isUpToDate(1) && !broadcast.isUpToDate(0))
        expect(broadcast.see(first, by: 0, at: start + 9), equals: nil)
        expect(broadcast.see(second, by: 0, at: start + 9), equals: Broadcast.Receipt(latency: 4, conflated: 0))
        expect(broadcast.awaited, equals: 0)
        expect(broadcast.invented, equals: nil)
        expect(broadcast.see(NumberedChange(changer: 0, number: 1), by: 0, at: start), equals: nil)
        expect(broadcast.invented, equals: NumberedChange(changer: 0, number: 1))
    }

    @Test func `an answer without a number belongs to the oldest change`() {
        var broadcast = Broadcast(changers: 1, watchers: 1, expectsAnswers: true)
        let start = Instant(nanoseconds: 10)
        for place in 0..<3 { _ = broadcast.change(of: 0, intended: start + Int64(place)) }
        expect(broadcast.acknowledge(nil, of: 0), equals: start)
        expect(broadcast.acknowledge(nil, of: 0), equals: start + 1)
        expect(broadcast.acknowledge(3, of: 0), equals: start + 2)
        expect(broadcast.unanswered, equals: 0)
        expect(broadcast.acknowledge(nil, of: 0), equals: nil, "nothing was asked")
    }

    @Test func `a report carries its figures to text and to JSON`() throws {
        var measurement = FanoutMeasurement()
        measurement.begin(at: Instant(nanoseconds: 0), used: .init(server: .milliseconds(5), redis: .milliseconds(1)))
        for index in 1...1_000 {
            measurement.delivered(
                after: .milliseconds(2), conflated: 0, at: Instant(nanoseconds: Int64(index) * 1_000_000))
        }
        measurement.delivered(after: .milliseconds(80), conflated: 3, at: Instant(nanoseconds: 1_001_000_000))
        measurement.end(used: .init(server: .milliseconds(15), redis: .milliseconds(7)))
        let options = try FanoutCommand.parse(["--watchers", "1001", "--server-pid", "1", "--changes", "100"])
        let report = FanoutReport(options, measurement, connections: 1_002, server: "ws://127.0.0.1:1/v1/ws")
        expect(report.succeeded)
        expect(report.text.contains("deliveries       1,001 in 1.00 s, 1,000 a second; 3 conflated"))
        expect(report.text.contains("receipt          p50 2.00"))
        expect(report.text.contains("9.99 µs CPU a delivery"))
        expect(report.text.contains("60.00 µs CPU a change"))
        let json = try #require(try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any])
        let latency = try #require(json["latency"] as? [String: Any])
        expect(latency["max"] as? Double, equals: 80)
        expect(json["deliveries"] as? Int, equals: 1_001)
        expect(json["serverCPUMicrosecondsPerChange"] as? Double, equals: 100)
        expect(json["redisCPUMicrosecondsPerChange"] as? Double, equals: 60)
        expect(json["succeeded"] as? Bool, equals: true)
    }

    @Test func `a change shown after a newer one fails the run`() throws {
        var measurement = FanoutMeasurement()
        measurement.older = 2
        let report = FanoutReport(try FanoutCommand.parse([]), measurement, connections: 2, server: "ws://h:1/")
        expect(!report.succeeded)
        expect(report.failures, equals: ["2 times a watcher was shown an older change after a newer one"])
    }

    @Test(
        arguments: [
            ["--watchers", "0"], ["--people", "2", "--pending", "3"], ["--rate", "-1"], ["--change", "mood"],
            ["--watcher", "5"],
        ])
    func `a bad flag is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { _ = try FanoutCommand.parse(arguments) }
    }
}
