import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore

@Suite("Every watcher of a log gets every entry once and in order")
struct LogTests {
    private func entries(_ range: ClosedRange<Int>, of log: Int = 0) -> String { LogBench.entries(range, of: log) }

    @Test func `entries of a turn leave in one write, in order, with the turn's other changes`() {
        let bench = LogBench(logs: 2, people: 1, connections: 2)
        bench.watchers.subscribe(bench.connections[0], to: bench.logs + bench.people)
        bench.watchers.subscribe(bench.connections[1], to: [bench.logs[1]])
        bench.add(0, count: 2)
        bench.change(0, 1)
        bench.add(1)
        bench.add(0)
        expect(bench.endTurn(), equals: "e0,1,;e0,2,;e0,3,;p0,1;e1,1,;")
        expect(bench.sockets.written[1], equals: Array("e1,1,;".utf8))
        expect(bench.sockets.writes, equals: [0: 1, 1: 1])
        expect(bench.endTurn(), equals: "")
        expect(bench.metrics.deliveries == 6 && bench.metrics.conflated == 0)
        expect(bench.logs.allSatisfy { !$0.log!.hasCursors })
    }

    @Test func `a known entry, or one that leaves a hole, is rejected with what is missing`() {
        let bench = LogBench()
        for _ in 0..<9 { bench.write(0) }
        // The first known entry sets the log's position.
        expect(bench.append(0, 5), equals: .appended)
        expect(bench.append(0, 5), equals: .known)
        expect(bench.append(0, 3), equals: .known)
        expect(bench.append(0, 8), equals: .hole(after: 5))
        expect(bench.logs[0].log?.last, equals: 5)
        expect(bench.watchers.recordEnd(5, of: bench.logs[0]), equals: .known)
        expect(bench.watchers.recordEnd(7, of: bench.logs[0]), equals: .hole(after: 5))
        expect(bench.append(0, 6), equals: .appended)
    }

    @Test func `fast, slow and background readers get everything, and the slow ones cost a number each`() {
        let bench = LogBench(connections: 3)
        for connection in bench.connections { bench.watchers.subscribe(connection, to: bench.logs) }
        bench.sockets.slow = [1]
        bench.background(2, true)
        var quick = ""
        var slow = ""
        for _ in 0..<100 {
            bench.add()
            quick += bench.endTurn()
            slow += String(decoding: bench.sockets.written[1] ?? [], as: UTF8.self)
            expect(bench.sockets.written[2], equals: nil)
        }
        expect(quick, equals: entries(1...100))
        // The socket accepted one write and is congested then.
        expect(slow == entries(1...1) && bench.outboxes.held == slow.utf8.count)
        let log = bench.logs[0].log!
        expect(log.behind, equals: [1: 1, 2: 0])
        expect(bench.watchers.lines[1].kept.count == 1 && bench.watchers.lines[2].kept.count == 1)
        bench.readsAgain(1)
        bench.background(2, false)
        expect(bench.endTurn(1), equals: entries(2...100))
        expect(bench.sockets.written[2], equals: Array(entries(1...100).utf8))
        expect(!log.hasCursors && bench.requests.isEmpty)
        bench.add()
        expect(bench.endTurn(1), equals: entries(101...101))
    }

    @Test func `a reader further behind than memory gets older entries from the feature, and other topics continue`() {
        let bench = LogBench(people: 1, connections: 1)
        bench.watchers.subscribe(bench.connections[0], to: bench.logs + bench.people)
        bench.background(0, true)
        for _ in 0..<50 {
            bench.add(count: 10)
            expect(bench.endTurn(), equals: "")
        }
        expect(bench.logs[0].log?.count, equals: TopicLog.mostEntries)
        bench.background(0, false)
        expect(bench.endTurn(), equals: "")
        expect(bench.requests.count == 1 && bench.requests[0].through == 244)
        // Meanwhile.
        bench.change(0, 1)
        bench.add()
        expect(bench.endTurn(), equals: "p0,1;")
        bench.answer(page: 100)
        expect(bench.endTurn(), equals: entries(1...100))
        expect(bench.requests.count == 1 && bench.requests[0].after == 100)
        bench.add()
        bench.answer(page: 300)
        bench.add()
        expect(bench.endTurn(), equals: entries(101...503))
        expect(bench.requests.isEmpty && bench.logs[0].log?.hasCursors == false)
        expect(bench.metrics.catchUps == 2 && bench.socketWriter.catchUps.count == 0 && bench.outboxes.held == 0)
    }

    @Test func `a subscription's cursor may be in memory, older, or ahead of this server`() {
        let bench = LogBench(connections: 3)
        bench.add(count: 300)
        _ = bench.endTurn()
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 297)
        bench.watchers.subscribe(bench.connections[1], to: bench.logs[0], after: 10)
        // Another server has delivered two more entries to the client.
        for _ in 0..<2 { bench.write(0) }
        bench.watchers.subscribe(bench.connections[2], to: bench.logs[0], after: 302)
        expect(bench.endTurn(), equals: entries(298...300))
        expect(bench.requests.map(\.after), equals: [10])
        bench.receive(0, 301)
        expect(bench.endTurn(2), equals: "")
        bench.receive(0, 302)
        bench.add(count: 2)
        expect(bench.endTurn(2), equals: entries(303...304))
        bench.answer(page: 1_000)
        expect(bench.endTurn(1), equals: entries(11...304))
        expect(bench.logs[0].log?.hasCursors, equals: false)
    }

    @Test func `a connection that subscribes in the turn of an entry gets those after it`() {
        let bench = LogBench(connections: 2)
        bench.watchers.subscribe(bench.connections[0], to: bench.logs)
        bench.add()
        bench.watchers.subscribe(bench.connections[1], to: bench.logs)
        bench.add()
        expect(bench.endTurn(1), equals: entries(2...2))
        expect(bench.sockets.written[0], equals: Array(entries(1...2).utf8))
    }

    @Test func `a connection that unsubscribes and returns gets no answers to its earlier request`() {
        let bench = LogBench(connections: 1)
        bench.add(count: 300)
        _ = bench.endTurn()
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 1)
        _ = bench.endTurn()
        bench.watchers.unsubscribe(bench.connections[0], from: bench.logs[0])
        expect(bench.logs[0].log?.hasCursors, equals: false)
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 2)
        _ = bench.endTurn()
        expect(bench.requests.map(\.after), equals: [1, 2])
        bench.answer(page: 5)
        expect(bench.endTurn(), equals: "")
        bench.answer(page: 300)
        expect(bench.endTurn(), equals: entries(3...300))
        // Nor does the next connection on the same socket.
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 1)
        _ = bench.endTurn()
        bench.reconnect(0)
        expect(bench.logs[0].log?.hasCursors, equals: false)
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 299)
        bench.answer(page: 300)
        expect(bench.endTurn(), equals: entries(300...300))
    }

    @Test func `a failed read is repeated, and the number of reads under way is limited`() {
        let count = CatchUps.mostUnderWay + 10
        let bench = LogBench(connections: count)
        bench.add(count: 300)
        _ = bench.endTurn()
        for connection in bench.connections { bench.watchers.subscribe(connection, to: bench.logs[0], after: 0) }
        _ = bench.endTurn()
        expect(bench.requests.count == CatchUps.mostUnderWay && bench.socketWriter.catchUps.count == count)
        bench.socketWriter.catchUps.fail(bench.requests.removeFirst())
        // An answer without entries counts as a failure.
        bench.socketWriter.catchUps.complete(bench.requests.removeFirst(), with: [])
        while !bench.requests.isEmpty { bench.answer(page: 300) }
        expect(bench.socketWriter.catchUps.count, equals: 2)
        bench.clock.advance(to: bench.clock.now + CatchUps.pause - 1)
        bench.socketWriter.catchUps.tick()
        expect(bench.requests.isEmpty)
        bench.clock.advance(to: bench.clock.now + 1)
        bench.socketWriter.catchUps.tick()
        expect(bench.requests.count, equals: 2)
        while !bench.requests.isEmpty { bench.answer(page: 300) }
        _ = bench.endTurn()
        for index in 0..<count {
            expect(bench.sockets.written[UInt32(index)].map { $0.count }, equals: entries(1...300).utf8.count)
        }
        expect(bench.socketWriter.catchUps.count, equals: 0)
    }

    @Test func `an entry may replace those that the store no longer has`() {
        let bench = LogBench()
        bench.add(count: 300)
        _ = bench.endTurn()
        bench.watchers.subscribe(bench.connections[0], to: bench.logs[0], after: 3)
        _ = bench.endTurn()
        bench.socketWriter.catchUps.complete(
            bench.requests.removeFirst(), with: [LogEntry(sequence: 290, frame: Array("reset;".utf8))])
        expect(bench.endTurn(), equals: "reset;" + entries(291...300))
    }

    @Test func `a turn of many long entries takes several writes, and what is not accepted follows from memory`() {
        let bench = LogBench(logs: 2, connections: 2)
        bench.watchers.subscribe(bench.connections[0], to: bench.logs)
        bench.watchers.subscribe(bench.connections[1], to: [bench.logs[0]])
        bench.sockets.slow = [1]
        for _ in 0..<60 {
            bench.add(0, padding: 5_000)
            bench.add(1)
        }
        // Together with a reply.
        bench.reply("reply;", to: 0)
        let all = bench.store[0].joined()
        let written = bench.endTurn()
        expect(written.hasPrefix("reply;") && written.utf8.count == 6 + all.count + bench.store[1].joined().count)
        expect(bench.sockets.longest <= 2 * TopicLog.mostAtOnce)
        var slow = bench.sockets.written[1]!
        expect(slow.count < all.count)
        while slow.count < all.count {
            bench.sockets.slow = []
            bench.readsAgain(1)
            let more = Array(bench.endTurn(1).utf8)
            guard !more.isEmpty else { break }
            slow += more
        }
        // 300 kB in a turn: more than the ring keeps, but the ring is only trimmed at the turn's end.
        if !bench.requests.isEmpty { bench.answer(page: 60); slow += Array(bench.endTurn(1).utf8) }
        expect(slow, equals: Array(all))
    }

    @Test func `all logs together stay within their limit, and each within its own`() {
        let bench = LogBench(logs: 8)
        for log in 0..<8 { bench.add(log, count: 400) }
        expect(bench.watchers.logs.entries, equals: 8 * 400)
        _ = bench.endTurn()
        expect(bench.watchers.logs.entries, equals: 8 * TopicLog.mostEntries)
        expect(bench.watchers.logs.bytes, equals: bench.logs.reduce(0) { $0 + $1.log!.bytes })
        bench.watchers.logs.most = 10_000
        bench.add(3)
        _ = bench.endTurn()
        expect(bench.watchers.logs.bytes <= 10_000 && bench.watchers.logs.bytes > 4_000)
        bench.add(0, padding: TopicLog.mostBytes)
        _ = bench.endTurn()
        expect(bench.logs[0].log?.count, equals: 0)
        for log in bench.logs { bench.watchers.release(log) }
        expect(bench.watchers.logs.entries == 0 && bench.watchers.logs.bytes == 0)
    }

    @Test func `a congested connection holds one page, however many logs it watches`() {
        let bench = LogBench(logs: 50)
        for log in 0..<50 { bench.add(log, count: 300) }
        _ = bench.endTurn()
        for log in bench.logs { bench.watchers.subscribe(bench.connections[0], to: log, after: 0) }
        _ = bench.endTurn()
        expect(bench.requests.count, equals: 50)
        bench.sockets.slow = [0]
        bench.answer()
        let page = bench.endTurn().utf8.count
        expect(bench.outboxes.held, equals: page)
        while !bench.requests.isEmpty { bench.answer() }
        expect(bench.outboxes.held == page && bench.endTurn() == "")
        expect(bench.socketWriter.catchUps.count, equals: 0)
        // It reads again, and gets all entries of each log.
        var read: [Substring] = []
        for _ in 0..<20 {
            bench.readsAgain(0)
            read += bench.endTurn().split(separator: ";")
            while !bench.requests.isEmpty { bench.answer() }
        }
        // The rest of the first log was in memory.
        expect(read.count == 49 * 300 && bench.logs.allSatisfy { !$0.log!.hasCursors })
    }

    @Test func `nothing is read for a congested connection`() {
        let bench = LogBench(logs: CatchUps.mostUnderWay + 10)
        for log in bench.logs.indices { bench.add(log, count: 300) }
        _ = bench.endTurn()
        for log in bench.logs { bench.watchers.subscribe(bench.connections[0], to: log, after: 0) }
        _ = bench.endTurn()
        bench.sockets.slow = [0]
        bench.answer()
        _ = bench.endTurn()
        let asked = bench.metrics.catchUps
        while !bench.requests.isEmpty { bench.answer() }
        expect(bench.metrics.catchUps == asked && bench.socketWriter.catchUps.count == 0)
        bench.readsAgain(0)
        _ = bench.endTurn()
        expect(bench.requests.count, equals: CatchUps.mostUnderWay)
    }

    @Test func `an entry for a removed topic is dropped`() {
        let bench = LogBench()
        let topic = bench.logs[0]
        bench.watchers.subscribe(bench.connections[0], to: bench.logs)
        bench.add(count: 3)
        _ = bench.endTurn()
        bench.watchers.unsubscribe(bench.connections[0], from: topic)
        bench.watchers.release(topic)
        bench.write(0)
        expect(bench.append(0, 4) == .known && bench.watchers.recordEnd(9, of: topic) == .known)
        _ = bench.endTurn()
        expect(bench.watchers.logs.entries == 0 && bench.watchers.logs.bytes == 0)
        // Another topic takes its place.
        _ = bench.watchers.hold(Identifier("other")!, TopicKindID(rawValue: 1))
        expect(bench.append(0, 4) == .known && bench.watchers.logs.entries == 0)
    }
}
