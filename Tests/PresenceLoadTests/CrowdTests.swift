import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import presence_load

/// The building blocks of churn and typing.
@Suite struct CrowdTests {
    @Test func `the earliest task is first, and none is early`() {
        var agenda = Agenda<Int>()
        var random = SeededRandom(seed: 7)
        let times = (0..<500).map { _ in Int64(random.next() % 1_000) }
        for (thing, time) in times.enumerated() { agenda.add(thing, at: Instant(nanoseconds: time)) }
        var taken: [Int64] = []
        expect(agenda.first?.nanoseconds, equals: times.min())
        while let (due, thing) = agenda.next(now: Instant(nanoseconds: 500)) {
            expect(due.nanoseconds, equals: times[thing])
            taken.append(due.nanoseconds)
        }
        expect(taken, equals: times.filter { $0 <= 500 }.sorted())
        expect(agenda.count, equals: times.count { $0 > 500 })
    }

    @Test func `random choices follow from a seed, and lengths have the given median`() {
        var one = SeededRandom(seed: 3)
        var same = SeededRandom(seed: 3)
        expect((0..<100).allSatisfy { _ in one.next() == same.next() })
        func median(_ draw: (inout SeededRandom) -> Double) -> Double {
            (0..<9_999).map { _ in draw(&one) }.sorted()[5_000]
        }
        expect(abs(median { $0.logNormal(median: 8, sigma: 1.5) } - 8) < 0.8)
        expect(abs(median { $0.pareto(median: 8, alpha: 1.2) } - 8) < 0.8)
        expect(abs(median { $0.exponential(mean: 8) } - 8 * log(2)) < 0.5)
        expect((0..<10_000).allSatisfy { _ in (0..<1).contains(one.unit()) })
    }

    @Test func `a neighbourhood knows only its own members`() throws {
        let graph = try Graph("a b\na c\na d\nb c\nd e\n", file: "test")
        let all = graph.neighbourhood(of: 0)
        expect(all.map(\.count).sorted(), equals: graph.neighbours.map(\.count).sorted())
        let few = graph.neighbourhood(of: 3)
        expect(few.count, equals: 3)
        for (place, others) in few.enumerated() {
            expect(others.allSatisfy { few.indices.contains($0) && few[$0].contains(place) })
        }
    }

    @Test func `a participant shows the newest version, and returns its changes`() throws {
        var typist = Typist()
        let first = typist.show(0b011, version: 7)
        try expect(#require(first) == (0b011, 0))
        let second = typist.show(0b110, version: 8)
        try expect(#require(second) == (0b100, 0b001))
        let again = typist.show(0b111, version: 8)
        expect(again == nil)
        expect(typist.shown, equals: 0b110)
        let last = typist.show(0, version: 9)
        try expect(#require(last) == (0, 0b110))
    }

    @Test func `a connected person who is shown offline fails a churn, and so does any difference`() throws {
        let options = try ChurnCommand.parse(["--graph", "file"])
        var measurement = ChurnMeasurement()
        expect(ChurnReport(options, measurement, people: 2, watched: 2).succeeded)
        measurement.flickers = 1
        measurement.differences = (0..<30).map { "difference \($0)" }
        let report = ChurnReport(options, measurement, people: 2, watched: 2)
        expect(!report.succeeded)
        expect(report.failures.contains("and 10 more differences"))
        expect(report.failures.contains("1 times a connected person was shown offline"))
    }

    @Test func `a typing person who is shown to have stopped fails a run of typing`() throws {
        var measurement = TypingMeasurement()
        let options = try TypingCommand.parse([])
        expect(TypingReport(options, measurement).succeeded)
        measurement.dropouts = 2
        expect(
            TypingReport(options, measurement).failures, equals: ["2 times a typing person was shown to have stopped"])
    }

    @Test(arguments: [["--rate", "0"], ["--lost", "101"], ["--sessions", "even"], ["--alpha", "0"]])
    func `a bad flag of churn is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { _ = try ChurnCommand.parse(["--graph", "file"] + arguments) }
    }

    @Test(arguments: [["--participants", "1"], ["--participants", "21"], ["--think", "0.5"], ["--typing", "0"]])
    func `a bad flag of typing is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { _ = try TypingCommand.parse(arguments) }
    }
}
