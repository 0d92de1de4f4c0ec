import Expectations
import PresenceProtocol
import Testing
import WebSockets

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Fan-out between changes and sockets that record their writes.
@Suite("Changes of a turn are written at its end")
struct SocketWriterTests {
    private final class NotingSockets: Sockets {
        var written: [UInt32: [String]] = [:]
        /// Sockets that accept one more write and are congested then.
        var slow: Set<UInt32> = []

        func write(_ bytes: UnsafeRawBufferPointer, to socket: SocketID) -> WriteResult {
            written[socket.index, default: []].append(String(decoding: bytes, as: UTF8.self))
            return slow.contains(socket.index) ? .congested : .written
        }
        func ping(_ socket: SocketID) {}
        func silence(of socket: SocketID) -> Milliseconds? { nil }
        func close(_ socket: SocketID, code: CloseCode, reason: String) {}
        func hasHungUp(_ socket: SocketID) -> Bool { false }
        func pauseReading(_ socket: SocketID) {}
        func resumeReading(_ socket: SocketID) {}
        func reserveInbox(_ bytes: Int, of address: AddressBlock) -> Bool { true }
        func releaseInbox(_ bytes: Int, of address: AddressBlock) {}
        func allowLongMessages(_ socket: SocketID) {}
    }

    private struct Bench {
        let sockets = NotingSockets()
        let metrics = Metrics()
        let watchers: Watchers
        let socketWriter: SocketWriter
        let clock = ShardClock(now: 1_000)
        let people: [Topic]
        let connections: [Connection]

        init(people count: Int, connections: Int) {
            watchers = Watchers(metrics: metrics)
            socketWriter = SocketWriter(
                watchers: watchers, sockets: sockets, clock: clock, metrics: metrics,
                outboxes: Outboxes(OutboxBudget(0)))
            self.connections = (0..<connections).map {
                Connection(
                    socket: SocketID(index: UInt32($0), generation: 3), headerToken: nil, now: 0, firstPing: 1)
            }
            for connection in self.connections { watchers.add(connection) }
            people = (0..<count).map { [watchers] in watchers.hold(person: Identifier("p\($0)")!) }
        }

        func change(_ person: Int, _ text: String, _ marks: Marks = .first) {
            watchers.set(Register(version: 1, bytes: Array(text.utf8)), marks, on: people[person], announced: true)
        }

        func watch(_ connection: Int, _ people: [Int]) {
            watchers.subscribe(connections[connection], to: people.map { self.people[$0] })
        }

        /// Ends the turn, and returns this connection's writes in it.
        func endTurn(_ connection: UInt32 = 0) -> [String] {
            sockets.written = [:]
            expect(socketWriter.flush(commandsPending: 0), equals: nil)
            return sockets.written[connection] ?? []
        }
    }

    @Test func `changes in a row leave in one write, in their order`() {
        let bench = Bench(people: 3, connections: 2)
        bench.watch(0, [0, 1, 2])
        bench.watch(1, [1])
        for person in [2, 0, 1] { bench.change(person, "<\(person)>") }
        expect(bench.endTurn(), equals: ["<2><0><1>"])
        expect(bench.sockets.written[1], equals: ["<1>"])
        expect(bench.endTurn(), equals: [])
        expect(bench.metrics.deliveries, equals: 4)
    }

    @Test func `a connection receives only the changes that it watches`() {
        let bench = Bench(people: 5, connections: 1)
        bench.watch(0, [0, 2, 3])
        for person in 0..<5 { bench.change(person, "<\(person)>") }
        expect(bench.endTurn(), equals: ["<0><2><3>"])
        bench.change(3, "<3b>")
        expect(bench.endTurn(), equals: ["<3b>"])
    }

    @Test func `of several changes of a register in one turn the newest is sent, and one user's in their order`() {
        let bench = Bench(people: 1, connections: 1)
        bench.watch(0, [0])
        bench.change(0, "<presence 1>")
        bench.change(0, "<profile>", .second)
        bench.change(0, "<presence 2>")
        expect(bench.endTurn(), equals: ["<profile><presence 2>"])
        expect(bench.metrics.conflated, equals: 1)
    }

    @Test func `a slow connection receives the newest of each register once it reads again`() {
        let bench = Bench(people: 2, connections: 1)
        bench.watch(0, [0, 1])
        bench.sockets.slow = [0]
        bench.change(0, "<a1>")
        expect(bench.endTurn(), equals: ["<a1>"])
        for number in 2...5 {
            bench.change(0, "<a\(number)>")
            bench.change(1, "<b\(number)>")
            expect(bench.endTurn(), equals: [])
        }
        bench.change(0, "<profile>", .second)
        expect(bench.endTurn(), equals: [])
        bench.sockets.slow = []
        bench.watchers.set(.congested, false, on: bench.connections[0])
        expect(bench.endTurn(), equals: ["<a5><profile><b5>"])
        expect(bench.metrics.conflated, equals: 6)
        expect(bench.endTurn(), equals: [])
    }

    @Test func `a client in the background receives nothing, and the newest when it returns`() {
        let bench = Bench(people: 2, connections: 1)
        bench.watch(0, [0, 1])
        bench.watchers.set(.background, true, on: bench.connections[0])
        bench.change(0, "<1>")
        bench.change(1, "<other>")
        expect(bench.endTurn(), equals: [])
        bench.change(0, "<2>")
        expect(bench.endTurn(), equals: [])
        bench.watchers.set(.background, false, on: bench.connections[0])
        expect(bench.endTurn(), equals: ["<2><other>"])
    }

    @Test func `a connection that subscribes in the turn of a change has it in the snapshot and gets no event`() {
        let bench = Bench(people: 2, connections: 2)
        bench.watch(0, [0])
        bench.change(0, "<1>")
        bench.watch(1, [0, 1])
        bench.change(1, "<other>")
        expect(bench.endTurn(1), equals: ["<other>"])
        expect(bench.sockets.written[0], equals: ["<1>"])
    }

    @Test func `a connection that unsubscribes in the turn of a change gets no event`() {
        let bench = Bench(people: 3, connections: 2)
        bench.watch(0, [0, 1, 2])
        bench.change(0, "<0>")
        bench.change(1, "<1>")
        // Assigns the changes to the connections before the end of the turn.
        bench.watch(1, [0])
        bench.change(2, "<2>")
        bench.watchers.unsubscribe(bench.connections[0], from: bench.people[1])
        expect(bench.endTurn(), equals: ["<0><2>"])
    }

    @Test func `a batch above the limit becomes several writes, and what the socket does not accept is kept`() {
        let bench = Bench(people: 40, connections: 1)
        bench.watch(0, Array(0..<40))
        let long = String(repeating: "x", count: 4_000)
        for person in 0..<40 { bench.change(person, "<\(person) \(long)>") }
        let whole = bench.endTurn()
        expect(whole.count, equals: 3)
        expect(whole.joined(), equals: (0..<40).map { "<\($0) \(long)>" }.joined())

        for person in 0..<40 { bench.change(person, "<\(person)>\(long)") }
        bench.sockets.slow = [0]
        let first = bench.endTurn()
        expect(first.count, equals: 1)
        bench.change(39, "<39 again>")
        expect(bench.endTurn(), equals: [])
        bench.sockets.slow = []
        bench.watchers.set(.congested, false, on: bench.connections[0])
        let rest = (first + bench.endTurn()).joined()
        expect(rest, equals: (0..<39).map { "<\($0)>\(long)" }.joined() + "<39 again>")
    }

    @Test func `under load a flush waits for pending commands, for a quarter of the last flush`() {
        let bench = Bench(people: 1, connections: 1)
        bench.watch(0, [0])
        bench.change(0, "<1>")
        expect(bench.socketWriter.flush(commandsPending: 5), equals: nil)
        bench.socketWriter.turnEnded(after: 40)
        bench.sockets.written = [:]
        bench.change(0, "<2>")
        expect(bench.socketWriter.flush(commandsPending: 5), equals: 10)
        expect(bench.sockets.written, equals: [:])
        bench.clock.advance(to: 1_009)
        expect(bench.socketWriter.flush(commandsPending: 5), equals: 1)
        bench.clock.advance(to: 1_010)
        expect(bench.socketWriter.flush(commandsPending: 5), equals: nil)
        expect(bench.sockets.written, equals: [0: ["<2>"]])
        // Without pending commands a flush does not wait.
        bench.socketWriter.turnEnded(after: 40)
        bench.change(0, "<3>")
        expect(bench.endTurn(), equals: ["<3>"])
    }

    @Test func `subscriptions are still found after other connections have closed`() {
        let bench = Bench(people: 4, connections: 3)
        for connection in 0..<3 { bench.watch(connection, [0, 1, 2, 3]) }
        bench.watchers.remove(bench.connections[1])
        bench.watchers.unsubscribe(bench.connections[0], from: bench.people[0])
        bench.change(0, "<0>")
        bench.change(3, "<3>")
        expect(bench.endTurn(0), equals: ["<3>"])
        expect(bench.sockets.written[2], equals: ["<0><3>"])
        expect(bench.watchers.subscriptionCount, equals: 7)
    }

    @Test func `a background phone's pending set costs the same for each change, and at its end`() {
        let count = 4_000
        let bench = Bench(people: count, connections: 2)
        bench.watch(0, Array(0..<count))
        bench.watch(1, Array(0..<count))
        _ = bench.endTurn()
        bench.watchers.set(.background, true, on: bench.connections[0])
        for round in 0..<3 {
            for person in 0..<count {
                bench.change(person, "\(round) \(person) ", person % 2 == 0 ? .first : .second)
            }
            _ = bench.endTurn()
        }
        let kept = bench.watchers.lines[0].kept
        expect(kept.count <= 3 * count && Set(kept.map(\.topic)).count == count)
        // Steps of merging, over 12,000 changes; a search for each change would be some 20 million.
        expect(bench.watchers.merger.steps < 8 * 3 * count, "\(bench.watchers.merger.steps)")
        bench.watchers.set(.background, false, on: bench.connections[0])
        let written = bench.endTurn().joined()
        expect(written, equals: (0..<count).map { "2 \($0) " }.joined())
        expect(bench.watchers.lines[0].kept.isEmpty)
        expect(bench.metrics.conflated, equals: 2 * count)

        bench.watchers.set(.background, true, on: bench.connections[0])
        for person in 0..<count { bench.change(person, "late ") }
        _ = bench.endTurn()
        bench.watchers.close(bench.connections[0])
        bench.watchers.remove(bench.connections[0])
        expect(bench.watchers.subscriptionCount, equals: count)
        bench.change(7, "on")
        expect(bench.endTurn(1), equals: ["on"])
    }

    @Test func `unsubscribing from many topics keeps the pending ones of the others in order`() {
        let bench = Bench(people: 100, connections: 1)
        bench.watch(0, Array(0..<100))
        bench.watchers.set(.background, true, on: bench.connections[0])
        for person in (0..<100).reversed() { bench.change(person, "\(person) ") }
        _ = bench.endTurn()
        bench.watchers.unsubscribe(bench.connections[0], from: (0..<50).map { bench.people[$0] })
        expect(bench.watchers.subscriptions(of: bench.connections[0]), equals: 50)
        bench.watchers.set(.background, false, on: bench.connections[0])
        expect(bench.endTurn().joined(), equals: (50..<100).reversed().map { "\($0) " }.joined())
        for person in 0..<100 { bench.change(person, "\(person) ") }
        expect(bench.endTurn().joined(), equals: (50..<100).map { "\($0) " }.joined())
    }
}
