import Expectations
import Foundation
import Testing

@testable import presence_load

/// Whole runs against the baseline, by its templates.
@Suite(.timeLimit(.minutes(1))) struct ScenarioTests {
    private let server: RunningBaseline
    private let arguments: [String]

    init() throws {
        server = try RunningBaseline()
        let peer = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("loadtest/peers/baseline.json")
        arguments = ["--url", server.url, "--peer", peer.path, "--server-pid", String(getpid())]
    }

    private func json(_ report: some Report) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any])
    }

    @Test func `every change of several pending ones reaches all watchers, with the requested length`() throws {
        let flags = [
            "--watchers", "30", "--people", "4", "--pending", "4", "--changes", "100", "--message-bytes", "300",
        ]
        let report = try FanoutCommand.parse(arguments + flags).measure()
        expect(report.failures, equals: [])
        expect(report.deliveries, equals: 3_000)
        expect(report.conflated, equals: 0)
        expect(report.messageBytes, equals: 300)
        expect(report.latency?.count, equals: 3_000)
        expect(report.acknowledgement?.count, equals: 100)
        try expect(json(report)["serverCPUMicrosecondsPerDelivery"] as? Double ?? 0 > 0)
    }

    @Test func `an event of a peer is as long as ours unless another length is asked for`() throws {
        let report = try FanoutCommand.parse(arguments + ["--watchers", "1", "--changes", "1"]).measure()
        expect(report.messageBytes, equals: PresenceDialect.shortestEvent)
    }

    @Test func `each step of connections is measured apart, the last though it is short`() throws {
        let report = try ConnectCommand.parse(arguments + ["--connections", "50", "--step", "20"]).measure()
        expect(report.failures, equals: [])
        expect(report.connections, equals: 50)
        expect(report.steps.map(\.connections), equals: [20, 40, 50])
        expect(report.steps.allSatisfy { $0.serverCPUMicrosecondsPerConnection ?? 0 > 0 })
        expect(report.lastStepToFirstStep != nil)
        expect(report.latencyMilliseconds?.count, equals: 50)
    }

    @Test func `connections by the clock are late by no more than they are`() throws {
        let flags = ["--connections", "20", "--rate", "200", "--at-once", "5"]
        let report = try ConnectCommand.parse(arguments + flags).measure()
        expect(report.connections, equals: 20)
        expect(report.seconds > 0.09)
        expect(report.latenessMilliseconds?.count, equals: 20)
    }

    @Test func `memory is read before, during and after the quiet`() throws {
        let flags = ["--connections", "20", "--seconds", "0.1", "--settling", "0"]
        let report = try IdleCommand.parse(arguments + flags).measure()
        expect(report.serverEmpty.anonymousKB > 0)
        expect(report.serverWatchingMore.privateDirtyKB > 0)
        expect(report.seconds >= 0.1)
        expect(report.serverRedisRoundTripsPerSecond, equals: nil, "a peer has no such count")
        try expect(json(report)["userKBPerConnection"] is Double)
    }

    @Test func `slow readers get the rest when they read again`() throws {
        let flags = ["--watchers", "20", "--slow", "5", "--people", "4", "--rate", "200", "--seconds", "0.3"]
        let report = try SlowCommand.parse(arguments + flags).measure()
        expect(report.failures, equals: [])
        expect(report.allRead.deliveries, equals: 20 * 4 * 15)
        expect(report.someDoNot.deliveries, equals: 15 * 4 * 15, "the slow ones read nothing")
        expect(report.allRead.latencyMilliseconds?.count, equals: 15 * 4 * 15)
        expect(report.catchUpDeliveries, equals: 5 * 4 * 15)
        expect(report.slowReadersUpToDate, equals: 5)
    }

    @Test(
        arguments: [
            ["--watchers", "5", "--slow", "5"], ["--watchers", "5", "--slow", "0"], ["--rate", "0"],
            ["--seconds", "0.1", "--rate", "1"],
        ])
    func `a bad flag of slow is refused`(flags: [String]) {
        #expect(throws: (any Error).self) { _ = try SlowCommand.parse(flags) }
    }

    @Test func `no client watches the same person twice, nor itself`() throws {
        for (subjects, people) in [("pool", 30), ("clients", 50)] {
            let flags = ["--connections", "50", "--pool", "30", "--subjects", subjects]
            let gathering = try GatheringOptions.parse(flags)
            expect(gathering.people, equals: people)
            let crowd = gathering.crowd(isPeer: false)
            for client in 0..<50 {
                let watched = gathering.watched(by: client, in: crowd, count: 20)
                let more = gathering.watched(by: client, in: crowd, skipping: 20, count: 9)
                expect(Set(watched + more).count, equals: 29)
                expect(!(watched + more).contains(crowd.watcher(client)))
            }
        }
        #expect(throws: (any Error).self) { _ = try GatheringOptions.parse(["--watching", "400"]) }
    }
}
