import Expectations
import Testing

@testable import presence_load

@Suite(.timeLimit(.minutes(1))) struct EngineTests {
    @Test func `a ping is answered with a pong of the same bytes`() throws {
        let server = try ScriptedServer { peer in
            try peer.upgrade()
            try peer.send([0x89, 3] + Array("abc".utf8))
            let pong = try peer.readFrame()
            expect(pong.opcode == 0xA && pong.payload == Array("abc".utf8))
            try peer.sendText("done")
        }
        let listener = Listener(until: 1)
        try server.run(listener)
        expect(listener.messages, equals: ["done"])
    }

    @Test func `messages arrive whole however they are cut`() throws {
        let long = String(repeating: "0123456789", count: 20_000)
        let server = try ScriptedServer { peer in
            try peer.upgrade()
            // In three frames with a ping between them, and every byte of the first by itself.
            for byte in [0x01, 2] + Array("he".utf8) { try peer.send([byte]) }
            try peer.send([0x89, 0, 0x00, 2] + Array("ll".utf8))
            try peer.send([0x80, 1] + Array("o".utf8))
            try peer.sendText(long)
            // Several at once.
            try peer.send([0x81, 1] + Array("a".utf8) + [0x81, 0, 0x81, 1] + Array("b".utf8))
            _ = try peer.readFrame()
        }
        let listener = Listener(until: 5)
        try server.run(listener)
        expect(listener.messages, equals: ["hello", long, "a", "", "b"])
    }

    @Test func `a large message to a server that reads late arrives whole`() throws {
        let text = String(repeating: "presence", count: 1_000_000)
        let server = try ScriptedServer { peer in
            try peer.upgrade()
            try peer.sendText("go")
            let frame = try peer.readFrame()
            expect(frame.payload.count == text.utf8.count && frame.payload.elementsEqual(text.utf8))
            try peer.sendText("got it")
        }
        let listener = Listener(until: 2)
        listener.answers = ["go": text]
        try server.run(listener)
        expect(listener.messages, equals: ["go", "got it"])
    }

    @Test func `a close is reported with its code and reason, and answered`() throws {
        let server = try ScriptedServer { peer in
            try peer.upgrade()
            try peer.send([0x88, 6, 0x0F, 0xA4] + Array("gone".utf8))
            let answer = try peer.readFrame()
            expect(answer.opcode == 0x8 && answer.payload == [0x0F, 0xA4])
        }
        let listener = Listener(until: 1)
        try server.run(listener)
        expect(listener.closings, equals: [.closed(code: 4004, reason: "gone")])
    }

    @Test func `a lost, a refused and a violating connection are distinguished`() throws {
        let broken = Listener(until: 1)
        try ScriptedServer { try $0.upgrade() }.run(broken)
        expect(broken.closings, equals: [.lost("the server hung up")])

        let refused = Listener(until: 1)
        try ScriptedServer { peer in
            _ = try peer.readHead()
            try peer.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        }.run(refused)
        expect(refused.closings, equals: [.refused("the upgrade was answered HTTP/1.1 400 Bad Request")])

        let wild = Listener(until: 1)
        try ScriptedServer { peer in
            try peer.upgrade()
            try peer.send([0x82, 1, 0])
            _ = try? peer.readFrame()
        }.run(wild)
        expect(wild.closings, equals: [.violation("a binary message")])
    }

    @Test func `an address without a server is a refusal that names it`() throws {
        let server = try ScriptedServer { _ in }
        let url = server.url
        server.stopListening()
        let engine = try Engine(endpoint: Endpoint(url: url), connections: 1)
        let listener = Listener(until: 1)
        listener.engine = engine
        try engine.run(listener)
        guard case .refused(let why) = try #require(listener.closings.first) else {
            Issue.record("not refused")
            return
        }
        expect(why, equals: "no server answers at \(url): Connection refused")
    }

    @Test func `messages after the scenario has closed are not delivered`() throws {
        let server = try ScriptedServer { peer in
            try peer.upgrade()
            try peer.send([0x81, 1] + Array("a".utf8) + [0x81, 1] + Array("b".utf8))
            let goodbye = try peer.readFrame()
            expect(goodbye.opcode == 0x8 && goodbye.payload == [0x03, 0xE8])
            try peer.send([0x88, 2, 0x03, 0xE8])
        }
        let listener = Listener(until: 1)
        listener.closesAfterFirst = true
        try server.run(listener)
        expect(listener.messages, equals: ["a"])
        expect(listener.closings.isEmpty)
    }
}

/// Opens one connection and records its events, until there are this many.
private final class Listener: Scenario {
    var engine: Engine!
    var messages: [String] = []
    var closings: [Closing] = []
    var answers: [String: String] = [:]
    var closesAfterFirst = false
    private let enough: Int
    private var isDialled = false

    init(until enough: Int) { self.enough = enough }

    func opened(_ connection: ConnectionID, tag: Int) { expect(tag, equals: 7) }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        let text = String(decoding: message, as: UTF8.self)
        messages.append(text)
        if let answer = answers[text] { engine.send(Array(answer.utf8), on: connection) }
        if closesAfterFirst { engine.close(connection) }
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) { closings.append(closing) }

    func tick(now: Instant) -> Instant? {
        if !isDialled {
            isDialled = true
            do {
                _ = try engine.dial(tag: 7)
            } catch {
                engine.stop(error)
            }
        }
        if messages.count + closings.count >= enough { engine.stop() }
        return nil
    }
}

extension ScriptedServer {
    /// Lets `listener` talk to this server, closes all connections, and waits for the script's end.
    fileprivate func run(_ listener: Listener) throws {
        let engine = try Engine(endpoint: Endpoint(url: url), connections: 1)
        listener.engine = engine
        try engine.run(listener)
        engine.closeAll()
        try finish()
    }
}
