import PresenceProtocol
import Testing

@testable import PresenceCore

@Suite("What a log lacks is read until it is there, and what the store has lost is told")
struct LogReaderTests {
    private func entries(_ range: ClosedRange<Int>) -> String { LogBench.entries(range) }

    private func bench(_ count: Int = 10, connections: Int = 1) -> LogBench {
        let bench = LogBench(connections: connections)
        for connection in bench.connections { bench.watchers.subscribe(connection, to: bench.logs) }
        bench.add(count: count)
        _ = bench.endTurn()
        return bench
    }

    @Test func `pages are read until all is there, and only then is it done`() {
        let bench = bench()
        for _ in 0..<250 { bench.write(0) }
        var heard: [String] = []
        bench.delivery.logReader.complete(bench.logs[0]) { heard.append($0 == nil ? "all" : "failed") }
        #expect(bench.reads.map(\.after) == [10])
        for _ in 0..<2 { bench.answerRead() }
        // Somebody who knows of something newer asks meanwhile.
        bench.delivery.logReader.complete(bench.logs[0]) { heard.append($0 == nil ? "all, later" : "failed") }
        #expect(heard.isEmpty)
        bench.answerRead()
        #expect(heard == ["all"] && bench.reads.map(\.after) == [260])
        bench.write(0)
        bench.answerRead()
        #expect(heard == ["all", "all, later"] && bench.reads.isEmpty)
        #expect(bench.endTurn() == entries(11...261))
    }

    @Test func `a read that fails is told, and repeated`() {
        let bench = bench()
        bench.write(0)
        var failures = 0
        bench.delivery.logReader.complete(bench.logs[0]) { if $0 != nil { failures += 1 } }
        bench.reads.removeFirst().reply(.failure(.overloaded))
        #expect(failures == 1 && bench.reads.isEmpty)
        bench.clock.advance(to: bench.clock.now + CatchUps.pause)
        bench.delivery.logReader.tick()
        bench.answerRead()
        #expect(bench.endTurn() == entries(11...11))
        // Of a topic that has gone nothing is read.
        bench.delivery.logReader.complete(bench.logs[0])
        bench.reads.removeFirst().reply(.failure(.overloaded))
        bench.watchers.unsubscribe(bench.connections[0], from: bench.logs[0])
        bench.watchers.release(bench.logs[0])
        bench.clock.advance(to: bench.clock.now + CatchUps.pause)
        bench.delivery.logReader.tick()
        #expect(bench.reads.isEmpty)
    }

    @Test func `a store that lost entries is noticed, all are told once, and get what comes then`() {
        let bench = bench(300, connections: 4)
        bench.sockets.slow = [1]
        bench.background(2, true)
        bench.watchers.subscribe(bench.connections[3], to: bench.logs[0], after: 1)
        bench.add(count: 3)
        _ = bench.endTurn()
        #expect(bench.requests.count == 1 && bench.logs[0].log?.hasCursors == true)
        bench.add()
        bench.store[0] = []
        bench.delivery.logReader.complete(bench.logs[0])
        bench.answerRead()
        #expect(bench.logs[0].log?.last == 0 && bench.logs[0].log?.hasCursors == false)
        #expect(bench.watchers.logs.entries == 0)
        let first = bench.endTurn()
        #expect(first == "r0,0;")
        #expect(bench.sockets.written[2] == Array("r0,0;".utf8) && bench.sockets.written[3] == Array("r0,0;".utf8))
        // What was asked for the old ones is for nobody.
        bench.delivery.catchUps.answer(bench.requests.removeFirst(), with: [LogEntry(sequence: 2, frame: [0x21])])
        bench.add(count: 2)
        #expect(bench.endTurn() == entries(1...2))
        #expect(bench.sockets.written[3] == Array(entries(1...2).utf8))
        bench.sockets.slow = []
        bench.readsAgain(1)
        bench.background(2, false)
        #expect(bench.endTurn(1) == "r0,0;" + entries(1...2))
        #expect(bench.sockets.written[2] == Array(entries(1...2).utf8))
        #expect(bench.logs[0].log?.hasCursors == false && bench.outboxes.held == 0)
    }

    @Test func `an event that overtakes the answer is no loss`() {
        let bench = bench()
        bench.delivery.logReader.complete(bench.logs[0])
        let read = bench.reads.removeFirst()
        bench.add()
        // As it was when it was asked.
        read.reply(.success(LogPage(entries: [], end: 10)))
        #expect(bench.endTurn() == entries(11...11) && bench.logs[0].log?.last == 11)
    }

    @Test func `a cursor beyond the store's end is not waited for`() {
        let bench = bench(10, connections: 2)
        bench.watchers.subscribe(bench.connections[1], to: bench.logs[0], after: 10_000)
        #expect(bench.reads.count == 1)
        bench.answerRead()
        #expect(bench.endTurn(1) == "r0,10;" && bench.sockets.written[0] == nil)
        bench.add()
        #expect(bench.endTurn(1) == entries(11...11))
        // What the store has and this server has not heard of is no reason.
        bench.write(0)
        bench.watchers.subscribe(bench.connections[1], to: bench.logs[0], after: 12)
        bench.answerRead()
        #expect(bench.endTurn() == entries(12...12) && bench.sockets.written[1] == nil)
    }

    @Test func `one that asks for entries that the store lost is told so`() {
        let bench = LogBench()
        bench.add(count: 300)
        _ = bench.endTurn()
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 20)
        _ = bench.endTurn()
        bench.store[0].removeLast(290)
        bench.answer()
        bench.answerRead()
        #expect(bench.endTurn() == "r0,10;")
        bench.add()
        #expect(bench.endTurn() == entries(11...11) && bench.requests.isEmpty)
    }
}
