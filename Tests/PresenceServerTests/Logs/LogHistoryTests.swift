import Expectations
import PresenceProtocol
import Testing
import WebSockets

@testable import PresenceCore
@testable import Simulator

/// Random histories of appends, congestion, background, subscribing, resting, unsubscribing and closing, with rings
/// that are too small and a store that loses entries. A plain model checks each client's input: the next number of each
/// log that it watches.
@Suite("In any order of events, a log's readers miss nothing and get nothing twice") struct LogHistoryTests {
    @Test(arguments: Seeds.halves(of: 8).flatMap(Array.init))
    func `each reader has every entry once and in order`(seed: UInt64) {
        var history = LogHistory(seed: seed)
        history.run(steps: 3_000)
        expect(history.faults.prefix(3), equals: [], "SEED=\(seed)")
        // The histories reach the cases under test.
        guard seed <= 8 else { return }
        expect(history.bench.metrics.catchUps > 20 && history.entries > 3_000 && history.congestions > 20)
        expect(history.losses > 5 && history.rests > 20)
    }

    @Test(arguments: LogHistory.Mistake.made) func `a deliberate bug is detected`(mistake: LogHistory.Mistake) {
        let isFound = (1...8).contains { seed in
            var history = LogHistory(seed: UInt64(seed))
            history.mistake = mistake
            history.run(steps: 3_000)
            return !history.faults.isEmpty
        }
        expect(isFound)
    }
}

struct LogHistory {
    enum Mistake: CaseIterable {
        case none
        /// Possible bugs of the fan-out's cursors.
        case skipsOne, repeatsOne, forgetsWhereSomeoneStands, dropsAnAnswer
        /// Possible bugs of a feature: a page has a hole; a hole is not read; a rested watch continues with the next
        /// entry; a loss in the store is not reported.
        case pageWithHole, holeUnread, goesOnAtTheEnd, lossUntold
        static let made = allCases.filter { $0 != .none }
    }

    private static let logs = 40
    private static let people = 5
    private static let clients = 6

    let bench = LogBench(logs: logs, people: people, connections: clients)
    var mistake = Mistake.none
    private(set) var faults: [String] = []
    private(set) var entries = 0
    private(set) var congestions = 0
    private(set) var losses = 0
    private(set) var rests = 0
    private var random: SplitMix64
    /// The next number that each client expects, by log. The client's own view, changed by its input.
    private var next: [[Int: Int]] = Array(repeating: [:], count: clients)
    /// The logs that the server knows the client to watch.
    private var watched: [Set<Int>] = Array(repeating: [], count: clients)
    /// Those of them that are resting.
    private var resting: [Set<Int>] = Array(repeating: [], count: clients)
    private var versions: [[Int: Int]] = Array(repeating: [:], count: clients)
    private var version: [Int64] = Array(repeating: 0, count: people)
    private var isBackground = Array(repeating: false, count: clients)

    init(seed: UInt64) { random = SplitMix64(seed &* 0x9E37_79B9 &+ 81) }

    mutating func run(steps: Int) {
        // As small as possible, or so that only some are trimmed.
        bench.watchers.logs.most = draw(2) == 0 ? 3_000 : 40_000
        for log in bench.logs { bench.watchers.recordEnd(0, of: log) }
        for client in 0..<Self.clients { bench.watchers.subscribe(bench.connections[client], to: bench.people) }
        for _ in 0..<steps where faults.isEmpty {
            step()
            if draw(3) == 0 { endTurn() }
        }
        guard faults.isEmpty else { return }
        settle()
    }

    private mutating func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func step() {
        let client = draw(Self.clients)
        switch draw(100) {
        case ..<43: append()
        case ..<50: bench.change(draw(Self.people), nextVersion())
        case ..<56:
            bench.sockets.slow.insert(UInt32(client))
            congestions += 1
        case ..<64: bench.readsAgain(client)
        case ..<69:
            isBackground[client].toggle()
            bench.background(client, isBackground[client])
        case ..<79: subscribe(client)
        case ..<83: unsubscribe(client, draw(4) == 0 ? 12 : 1)
        case ..<84: reconnect(client)
        case ..<92: answer()
        case ..<94: rest(client)
        case ..<96: if let log = resting[client].sorted().randomElement(using: &random) { resume(client, log) }
        case ..<97: lose()
        default: err()
        }
    }

    private mutating func nextVersion() -> Int64 {
        // One counter for all: versions only have to grow.
        version[0] += 1
        return version[0]
    }

    /// Some logs are busy. Events may reach the shard twice, or not at all.
    private mutating func append() {
        let log = min(draw(Self.logs), draw(Self.logs), draw(Self.logs))
        let count = draw(60) == 0 ? 270 : 1 + draw(4)
        for _ in 0..<count {
            let padding = draw(200) == 0 ? draw(70_000) : draw(20)
            let sequence = bench.write(log, padding: padding)
            entries += 1
            switch draw(20) {
            case 0: break
            case 1: for _ in 0..<2 { receive(log, sequence) }
            default: receive(log, sequence)
            }
        }
    }

    private func receive(_ log: Int, _ sequence: Int) {
        if mistake == .holeUnread { _ = bench.append(log, sequence) } else { bench.receive(log, sequence) }
    }

    /// Removes entries from the store, as after a failover. The shard notices before a new entry gets such a number.
    private mutating func lose() {
        guard let log = bench.store.indices.filter({ !bench.store[$0].isEmpty }).randomElement(using: &random) else {
            return
        }
        bench.store[log].removeLast(min(bench.store[log].count, 1 + draw(5)))
        losses += 1
        guard mistake != .lossUntold else { return }
        bench.socketWriter.logReader.complete(bench.logs[log])
        while !bench.reads.isEmpty { bench.answerRead() }
    }

    /// Pauses a watch, as if the user may not see the log for now.
    private mutating func rest(_ client: Int) {
        guard let log = watched[client].subtracting(resting[client]).sorted().randomElement(using: &random) else {
            return
        }
        bench.watchers.pause(bench.connections[client], on: bench.logs[log])
        resting[client].insert(log)
        rests += 1
    }

    private mutating func resume(_ client: Int, _ log: Int) {
        resting[client].remove(log)
        if mistake == .goesOnAtTheEnd {
            bench.watchers.unsubscribe(bench.connections[client], from: bench.logs[log])
            return bench.watchers.subscribe(bench.connections[client], to: [bench.logs[log]])
        }
        bench.watchers.resume(bench.connections[client], on: bench.logs[log])
    }

    private mutating func subscribe(_ client: Int) {
        let log = min(draw(Self.logs), draw(Self.logs))
        let topic = bench.logs[log]
        var after = Int(topic.log!.last)
        let connection = bench.connections[client]
        if draw(3) == 0 {
            bench.watchers.subscribe(connection, to: [topic])
        } else {
            let end = bench.store[log].count
            after = draw(3) == 0 ? draw(end + 1) : max(0, end - draw(30))
            bench.watchers.subscribe(connection, to: topic, after: Int64(after))
        }
        watched[client].insert(log)
        resting[client].remove(log)
        bench.reply("s\(log),\(after);", to: client)
    }

    private mutating func unsubscribe(_ client: Int, _ count: Int) {
        let left = watched[client].sorted().shuffled(using: &random).prefix(count)
        bench.watchers.unsubscribe(bench.connections[client], from: left.map { bench.logs[$0] })
        for log in left {
            watched[client].remove(log)
            resting[client].remove(log)
            bench.reply("u\(log);", to: client)
        }
    }

    private mutating func reconnect(_ client: Int) {
        bench.reconnect(client)
        bench.sockets.written[UInt32(client)] = nil
        (next[client], watched[client], resting[client]) = ([:], [], [])
        (versions[client], isBackground[client]) = ([:], false)
        bench.watchers.subscribe(bench.connections[client], to: bench.people)
    }

    private mutating func answer() {
        if !bench.reads.isEmpty, draw(2) == 0 {
            if draw(6) > 0 { return bench.answerRead(page: 1 + draw(40)) }
            return bench.reads.removeFirst().reply(.failure(.overloaded))
        }
        guard !bench.requests.isEmpty else { return }
        let request = bench.requests.remove(at: draw(bench.requests.count))
        if draw(6) == 0 { return bench.socketWriter.catchUps.fail(request) }
        var page = bench.page(request, 1 + draw(40))
        if mistake == .pageWithHole, page.count > 2 { page.remove(at: 1) }
        bench.socketWriter.catchUps.complete(request, with: page)
    }

    private mutating func endTurn() {
        bench.clock.advance(to: bench.clock.now + 100)
        bench.socketWriter.catchUps.tick()
        bench.socketWriter.logReader.tick()
        _ = bench.endTurn()
        read()
    }

    /// Lets all clients read, answers everything, and checks that each has all entries.
    private mutating func settle() {
        for log in 0..<Self.logs where !bench.store[log].isEmpty { receive(log, bench.store[log].count) }
        for client in 0..<Self.clients {
            bench.background(client, false)
            for log in resting[client].sorted() { resume(client, log) }
        }
        bench.sockets.slow = []
        for _ in 0..<2_000 {
            for client in 0..<Self.clients { bench.readsAgain(client) }
            while !bench.requests.isEmpty { bench.answer(page: 40) }
            while !bench.reads.isEmpty { bench.answerRead() }
            endTurn()
            if bench.requests.isEmpty, bench.reads.isEmpty, bench.socketWriter.catchUps.count == 0,
                bench.watchers.dirty.isEmpty,
                bench.logs.allSatisfy({ !$0.log!.hasCursors })
            {
                break
            }
        }
        for client in 0..<Self.clients {
            if Set(next[client].keys) != watched[client] { faults.append("\(client) watches something else") }
            for (log, number) in next[client] where number != bench.store[log].count + 1 {
                faults.append("\(client) has log \(log) up to \(number) of \(bench.store[log].count)")
            }
        }
        if bench.outboxes.held != 0 { faults.append("\(bench.outboxes.held) bytes are held for nobody") }
        if bench.logs.contains(where: { $0.log!.hasCursors }) { faults.append("someone is still behind") }
        if !bench.watchers.lines.allSatisfy({ $0.kept.isEmpty }) { faults.append("something is still kept") }
    }

    // MARK: The clients' input

    private mutating func read() {
        for (index, bytes) in bench.sockets.written {
            for message in bytes.split(separator: UInt8(ascii: ";")) {
                receive(message, by: Int(index))
            }
        }
    }

    private mutating func receive(_ message: ArraySlice<UInt8>, by client: Int) {
        let words = message.dropFirst().split(separator: UInt8(ascii: ","), maxSplits: 2)
        let numbers = words.prefix(2).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        switch message.first {
        case UInt8(ascii: "s"): next[client][numbers[0]] = numbers[1] + 1
        // The client restarts after that.
        case UInt8(ascii: "r"):
            if losses == 0 || next[client][numbers[0]] == nil { faults.append("\(client) begins anew for nothing") }
            next[client][numbers[0]] = numbers[1] + 1
        case UInt8(ascii: "u"): next[client][numbers[0]] = nil
        case UInt8(ascii: "p"):
            if numbers[1] <= versions[client][numbers[0]] ?? 0 { faults.append("\(client) is told an old version") }
            versions[client][numbers[0]] = numbers[1]
        default:
            if next[client][numbers[0]] != numbers[1] {
                let wanted = next[client][numbers[0]].map(String.init) ?? "none"
                faults.append("\(client) reads entry \(numbers[1]) of log \(numbers[0]) and waits for \(wanted)")
            }
            next[client][numbers[0]] = numbers[1] + 1
        }
    }

    // MARK: Bugs

    private mutating func err() {
        guard mistake != .none, let log = bench.logs.first(where: { !($0.log!.behind.isEmpty) })?.log,
            let (connection, after) = log.behind.min(by: { $0.key < $1.key })
        else { return }
        switch mistake {
        case .skipsOne: log.behind[connection] = after + 1
        case .repeatsOne: log.behind[connection] = max(0, after - 1)
        case .forgetsWhereSomeoneStands: log.behind[connection] = nil
        case .dropsAnAnswer:
            if let request = bench.requests.first { request.topic.log?.asked[UInt32(request.connection.index)] = nil }
        default: break
        }
    }
}
