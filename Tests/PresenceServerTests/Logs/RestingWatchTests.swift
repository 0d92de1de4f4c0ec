import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore

@Suite("A resting watch receives nothing, and later continues where it was")
struct RestingWatchTests {
    @Test func `every entry arrives once and in order, those of the pause after it`() {
        let bench = LogBench(connections: 2)
        for connection in bench.connections { bench.watchers.subscribe(connection, to: bench.logs) }
        let (log, connection) = (bench.logs[0], bench.connections[0])
        bench.add(count: 2)
        expect(bench.endTurn(), equals: LogBench.entries(1...2))
        // It gets no more entries of this turn; they are kept for it.
        bench.add()
        bench.watchers.pause(connection, on: log)
        bench.add()
        expect(bench.endTurn(), equals: "")
        expect(bench.sockets.written[1], equals: Array(LogBench.entries(3...4).utf8))
        expect(bench.watchers.paused(on: log).count == 1 && bench.watchers.subscriptions(of: connection) == 1)
        bench.watchers.pause(connection, on: log)
        bench.add()
        bench.watchers.resume(connection, on: log)
        bench.add()
        expect(bench.endTurn(), equals: LogBench.entries(3...6))
        bench.watchers.resume(connection, on: log)
        bench.add()
        expect(bench.endTurn(), equals: LogBench.entries(7...7))
        expect(log.paused == nil && bench.watchers.subscriptions(of: connection) == 1 && !log.log!.hasCursors)
    }

    @Test func `a resting watch that was behind keeps its place, and reads older entries from the store`() {
        let bench = LogBench()
        bench.watchers.subscribe(bench.connections[0], to: bench.logs)
        bench.background(0, true)
        bench.add(count: 3)
        _ = bench.endTurn()
        bench.watchers.pause(bench.connections[0], on: bench.logs[0])
        for _ in 0..<30 {
            bench.add(count: 10)
            _ = bench.endTurn()
        }
        bench.background(0, false)
        expect(bench.endTurn(), equals: "")
        bench.watchers.resume(bench.connections[0], on: bench.logs[0])
        var heard = bench.endTurn()
        while !bench.requests.isEmpty {
            bench.answer()
            heard += bench.endTurn()
        }
        expect(heard, equals: LogBench.entries(1...303))
    }

    @Test func `of registers the newest value arrives when the watch resumes`() {
        let bench = LogBench(people: 1, connections: 1)
        bench.watchers.subscribe(bench.connections[0], to: bench.people)
        bench.change(0, 1)
        expect(bench.endTurn(), equals: "p0,1;")
        bench.watchers.pause(bench.connections[0], on: bench.people[0])
        bench.change(0, 2)
        expect(bench.endTurn(), equals: "")
        bench.change(0, 3)
        bench.watchers.resume(bench.connections[0], on: bench.people[0])
        expect(bench.endTurn(), equals: "p0,3;")
        expect(bench.endTurn(), equals: "")
    }

    @Test func `it ends with its connection, with unsubscribe, and with a new subscribe`() {
        let bench = LogBench(connections: 3)
        for connection in bench.connections { bench.watchers.subscribe(connection, to: bench.logs) }
        let log = bench.logs[0]
        for connection in bench.connections { bench.watchers.pause(connection, on: log) }
        expect(log.watchers.isEmpty && log.paused?.watchers.count == 3)
        bench.watchers.unsubscribe(bench.connections[0], from: log)
        expect(bench.watchers.subscriptions(of: bench.connections[0]), equals: 0)
        bench.reconnect(1)
        bench.add()
        expect(bench.watchers.unwatched([log], by: bench.connections[2]), equals: 0)
        bench.watchers.subscribe(bench.connections[2], to: log, after: 0)
        expect(bench.watchers.subscriptions(of: bench.connections[2]) == 1 && log.paused == nil)
        _ = bench.endTurn()
        expect(bench.sockets.written[2], equals: Array(LogBench.entries(1...1).utf8))
        bench.watchers.unsubscribe(bench.connections[2], from: log)
        bench.watchers.release(log)
        expect(bench.watchers.topics.allSatisfy { $0 == nil || $0 !== log })
        expect(bench.watchers.subscriptionCount, equals: 0)
    }

    @Test func `after the store has lost entries it restarts`() {
        let bench = LogBench()
        bench.watchers.subscribe(bench.connections[0], to: bench.logs)
        bench.add(count: 5)
        _ = bench.endTurn()
        bench.watchers.pause(bench.connections[0], on: bench.logs[0])
        bench.store[0].removeLast(3)
        bench.socketWriter.logReader.complete(bench.logs[0])
        bench.answerRead()
        expect(bench.endTurn(), equals: "")
        bench.add(count: 4)
        _ = bench.endTurn()
        bench.watchers.resume(bench.connections[0], on: bench.logs[0])
        _ = bench.endTurn()
        // It asks for the entries after -1, which makes the feature send a restart.
        expect(bench.requests.map(\.after), equals: [-1])
    }
}
