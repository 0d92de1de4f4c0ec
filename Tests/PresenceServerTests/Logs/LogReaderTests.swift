import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore

@Suite("Entries that a log lacks are read until it is complete, and a loss in the store is reported")
struct LogReaderTests {
    private func entries(_ range: ClosedRange<Int>) -> String { LogBench.entries(range) }

    private func bench(_ count: Int = 10, connections: Int = 1) -> LogBench {
        let bench = LogBench(connections: connections)
        for connection in bench.connections { bench.watchers.subscribe(connection, to: bench.logs) }
        bench.add(count: count)
        _ = bench.endTurn()
        return bench
    }

    @Test func `pages are read until the log is complete, and only then is the caller notified`() {
        let bench = bench()
        for _ in 0..<250 { bench.write(0) }
        var heard: [String] = []
        bench.socketWriter.logReader.complete(bench.logs[0]) { heard.append($0 == nil ? "all" : "failed") }
        expect(bench.reads.map(\.after), equals: [10])
        for _ in 0..<2 { bench.answerRead() }
        // A caller that knows of a newer entry asks meanwhile.
        bench.socketWriter.logReader.complete(bench.logs[0]) { heard.append($0 == nil ? "all, later" : "failed") }
        expect(heard.isEmpty)
        bench.answerRead()
        expect(heard == ["all"] && bench.reads.map(\.after) == [260])
        bench.write(0)
        bench.answerRead()
        expect(heard == ["all", "all, later"] && bench.reads.isEmpty)
        expect(bench.endTurn(), equals: entries(11...261))
    }

    @Test func `a failed read is reported and repeated`() {
        let bench = bench()
        bench.write(0)
        var failures = 0
        bench.socketWriter.logReader.complete(bench.logs[0]) { if $0 != nil { failures += 1 } }
        bench.reads.removeFirst().reply(.failure(.overloaded))
        expect(failures == 1 && bench.reads.isEmpty)
        bench.clock.advance(to: bench.clock.now + CatchUps.pause)
        bench.socketWriter.logReader.tick()
        bench.answerRead()
        expect(bench.endTurn(), equals: entries(11...11))
        // Nothing is read for a topic that has been removed.
        bench.socketWriter.logReader.complete(bench.logs[0])
        bench.reads.removeFirst().reply(.failure(.overloaded))
        bench.watchers.unsubscribe(bench.connections[0], from: bench.logs[0])
        bench.watchers.release(bench.logs[0])
        bench.clock.advance(to: bench.clock.now + CatchUps.pause)
        bench.socketWriter.logReader.tick()
        expect(bench.reads.isEmpty)
    }

    @Test func `a store that lost entries is detected; every watcher is notified once and gets later entries`() {
        let bench = bench(300, connections: 4)
        bench.sockets.slow = [1]
        bench.background(2, true)
        bench.watchers.subscribe(bench.connections[3], to: bench.logs[0], after: 1)
        bench.add(count: 3)
        _ = bench.endTurn()
        expect(bench.requests.count == 1 && bench.logs[0].log?.hasCursors == true)
        bench.add()
        bench.store[0] = []
        bench.socketWriter.logReader.complete(bench.logs[0])
        bench.answerRead()
        expect(bench.logs[0].log?.last == 0 && bench.logs[0].log?.hasCursors == false)
        expect(bench.watchers.logs.entries, equals: 0)
        let first = bench.endTurn()
        expect(first, equals: "r0,0;")
        expect(bench.sockets.written[2] == Array("r0,0;".utf8) && bench.sockets.written[3] == Array("r0,0;".utf8))
        // The answer to the earlier request reaches no connection.
        bench.socketWriter.catchUps.complete(bench.requests.removeFirst(), with: [LogEntry(sequence: 2, frame: [0x21])])
        bench.add(count: 2)
        expect(bench.endTurn(), equals: entries(1...2))
        expect(bench.sockets.written[3], equals: Array(entries(1...2).utf8))
        bench.sockets.slow = []
        bench.readsAgain(1)
        bench.background(2, false)
        expect(bench.endTurn(1), equals: "r0,0;" + entries(1...2))
        expect(bench.sockets.written[2], equals: Array(entries(1...2).utf8))
        expect(bench.logs[0].log?.hasCursors == false && bench.outboxes.held == 0)
    }

    @Test func `an event that overtakes the answer is no loss`() {
        let bench = bench()
        bench.socketWriter.logReader.complete(bench.logs[0])
        let read = bench.reads.removeFirst()
        bench.add()
        // The answer has the state at the time of the request.
        read.reply(.success(LogPage(entries: [], end: 10)))
        expect(bench.endTurn() == entries(11...11) && bench.logs[0].log?.last == 11)
    }

    @Test func `a cursor beyond the store's end restarts at the end`() {
        let bench = bench(10, connections: 2)
        bench.watchers.subscribe(bench.connections[1], to: bench.logs[0], after: 10_000)
        expect(bench.reads.count, equals: 1)
        bench.answerRead()
        expect(bench.endTurn(1) == "r0,10;" && bench.sockets.written[0] == nil)
        bench.add()
        expect(bench.endTurn(1), equals: entries(11...11))
        // An entry that is in the store but not yet known to this server causes no restart.
        bench.write(0)
        bench.watchers.subscribe(bench.connections[1], to: bench.logs[0], after: 12)
        bench.answerRead()
        expect(bench.endTurn() == entries(12...12) && bench.sockets.written[1] == nil)
    }

    @Test func `a client that asks for entries lost by the store restarts`() {
        let bench = LogBench()
        bench.add(count: 300)
        _ = bench.endTurn()
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 20)
        _ = bench.endTurn()
        bench.store[0].removeLast(290)
        bench.answer()
        bench.answerRead()
        expect(bench.endTurn(), equals: "r0,10;")
        bench.add()
        expect(bench.endTurn() == entries(11...11) && bench.requests.isEmpty)
    }
}
