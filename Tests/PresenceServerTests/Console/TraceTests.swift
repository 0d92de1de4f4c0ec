import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The events that a trace keeps, in simulated time.
@Suite struct TraceTests {
    private static func trace() -> Trace { Trace("one", of: UserID("ana")!, isUser: true, now: 0) }

    private struct Answer: Decodable {
        let trace: String
        let last: Int
        let lost: Int
        let events: [Int]
    }

    private static func answer(
        _ trace: Trace, after: Int64 = 0, of name: String = "one", now: Milliseconds = 0
    ) throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: Data(trace.encode(after: after, of: name, now: now)))
    }

    private static func add(_ numbers: ClosedRange<Int>, to trace: Trace, now: Milliseconds) {
        for number in numbers { trace.add(now: now) { Array("\(number)".utf8) } }
    }

    @Test func `events after a number are returned in order`() throws {
        let trace = Self.trace()
        Self.add(1...5, to: trace, now: 0)
        var answer = try Self.answer(trace)
        expect(answer.events == [1, 2, 3, 4, 5] && answer.last == 5 && answer.lost == 0 && answer.trace == "one")
        answer = try Self.answer(trace, after: 3)
        expect(answer.events == [4, 5] && answer.lost == 0)
        try expect(Self.answer(trace, after: 5).events.isEmpty)
        try expect(Self.answer(trace, after: 9).events.isEmpty)
    }

    @Test func `a number from another trace is ignored`() throws {
        let trace = Self.trace()
        Self.add(1...3, to: trace, now: 0)
        try expect(Self.answer(trace, after: 2, of: "other").events, equals: [1, 2, 3])
    }

    @Test func `a second keeps 200 events, and counts the others without building them`() throws {
        let trace = Self.trace()
        var made = 0
        for _ in 1...201 {
            trace.add(now: 5_999) {
                made += 1
                return Array("1".utf8)
            }
        }
        expect(made, equals: 200)
        try expect(Self.answer(trace).lost, equals: 1)
        Self.add(202...202, to: trace, now: 6_000)
        let answer = try Self.answer(trace, after: 201)
        expect(answer.events == [202] && answer.lost == 0)
    }

    @Test func `the newest 400 events are kept, however many seconds they span`() throws {
        let trace = Self.trace()
        Self.add(1...200, to: trace, now: 0)
        Self.add(201...400, to: trace, now: 1_000)
        try expect(Self.answer(trace).events.count, equals: 400)
        Self.add(401...401, to: trace, now: 2_000)
        let answer = try Self.answer(trace)
        expect(answer.events == Array(101...401) && answer.lost == 100)
    }

    @Test func `a trace ends 10 s after the last call`() throws {
        let trace = Self.trace()
        expect(!trace.isOver(now: 9_999) && trace.isOver(now: 10_000))
        _ = try Self.answer(trace, now: 9_999)
        expect(!trace.isOver(now: 19_998) && trace.isOver(now: 19_999))
    }

    @Test func `a shard collects events only while a client polls`() throws {
        let world = try World(shards: 1) { $0[Console.enabled] = true }
        let shard = world.shards[0]
        try world.run(until: "the server is live") { shard.logic.link.isLive }
        var isHeard: Bool { shard.logic.observe != nil }
        func kinds() throws -> [String] {
            let call = SimulatedCall("GET", "/v1/console/trace?user=kim", token: "!backend", to: shard)
            try world.run(until: "it is answered") { call.status != nil }
            expect(call.status, equals: 200)
            return (call.json["events"] as? [[String: Any]] ?? []).compactMap { $0["kind"] as? String }
        }
        expect(!isHeard)
        try expect(kinds().isEmpty && isHeard)
        try SimulatedClient("kim", in: world).connect(to: shard)
        // The event arrives shortly after the client's answer.
        try world.run(for: 100)
        try expect(kinds(), equals: ["presence"])
        try world.run(for: 9_000)
        expect(isHeard)
        try world.run(for: 7_000)
        expect(!isHeard)
    }
}
