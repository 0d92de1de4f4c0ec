import Expectations
import Foundation
import Testing

@testable import presence_load

@Suite(.timeLimit(.minutes(1))) struct BaselineTests {
    @Test func `a publication reaches every subscriber once, at every length of its head`() throws {
        let server = try RunningBaseline()
        let engine = try Engine(endpoint: Endpoint(url: server.url), connections: 3)
        let texts = [125, 126, 65_536].map { String(repeating: "x", count: $0) }
        let run = Publication(engine: engine, texts: texts)
        try engine.run(run)
        expect(run.answers, equals: ["A1", "A2", "A3"])
        expect(run.received, equals: [texts, texts])
        engine.closeAll()
        server.stop()
    }

    @Test func `subscribers stay dense when one of them leaves`() {
        var subscribers = Subscribers()
        for descriptor in [5, 9, 7, 9] as [Int32] { subscribers.insert(descriptor) }
        subscribers.remove(5)
        expect(subscribers.descriptors, equals: [7, 9])
        subscribers.remove(5)
        subscribers.remove(9)
        subscribers.insert(5)
        expect(subscribers.descriptors, equals: [7, 5])
    }

    @Test(arguments: [[0x81, 0x01, 0x41], [0x01, 0x81, 0, 0, 0, 0, 0x41], [0x83, 0x80, 0, 0, 0, 0]] as [[UInt8]])
    func `a frame that is unmasked, in parts or unknown ends its connection`(bytes: [UInt8]) {
        var bytes = bytes
        let parsed = bytes.withUnsafeMutableBytes { ClientFrame.parse($0, from: 0) }
        guard case .violation = parsed else {
            Issue.record("\(parsed)")
            return
        }
    }
}

/// A baseline in a thread of its own, during this object's life.
final class RunningBaseline {
    let url: String
    private var ends: [Int32] = [-1, -1]
    private let ended = DispatchSemaphore(value: 0)
    private var isStopped = false

    /// Unsafe: the thread that it is given to is the only one that uses the server from then on.
    private struct Loan: @unchecked Sendable { let server: BaselineServer }

    init() throws {
        let loan = Loan(server: try BaselineServer(host: "127.0.0.1", port: 0))
        url = loan.server.url
        try #require(pipe(&ends) == 0)
        Thread.detachNewThread { [ended, signal = ends[0]] in
            try? loan.server.run(until: signal)
            ended.signal()
        }
    }

    deinit { stop() }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        close(ends[1])
        ended.wait()
        close(ends[0])
    }
}

/// Two clients subscribe, and then a third publishes one text after the other.
private final class Publication: Scenario {
    private let engine: Engine
    private let texts: [String]
    private(set) var answers: [String] = []
    private(set) var received: [[String]] = [[], []]
    private var publisher: ConnectionID?
    private var isDialled = false

    init(engine: Engine, texts: [String]) {
        self.engine = engine
        self.texts = texts
    }

    func tick(now: Instant) -> Instant? {
        guard !isDialled else { return nil }
        isDialled = true
        do {
            _ = try engine.dial(tag: 0)
        } catch {
            engine.stop(error)
        }
        return nil
    }

    func opened(_ connection: ConnectionID, tag: Int) {
        guard tag == 2 else { return engine.send("S".utf8, on: connection) }
        publisher = connection
        publish()
    }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        let text = String(decoding: message, as: UTF8.self)
        if tag == 2 {
            answers.append(text)
        } else if text == "S" {
            do {
                _ = try engine.dial(tag: tag + 1)
            } catch {
                engine.stop(error)
            }
        } else {
            received[tag].append(text)
        }
        guard answers.count == received[0].count, answers.count == received[1].count else { return }
        answers.count == texts.count ? engine.stop() : publish()
    }

    private func publish() {
        if let publisher, answers.count < texts.count {
            engine.send(Array("P\(texts[answers.count])".utf8), on: publisher)
        }
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        engine.stop(Failure(closing.description))
    }
}
