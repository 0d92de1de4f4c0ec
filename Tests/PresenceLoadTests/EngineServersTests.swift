import Expectations
import Foundation
import Testing

@testable import presence_load

@Suite(.timeLimit(.minutes(1))) struct EngineServersTests {
    @Test func `one engine reaches several servers, each asked by its own name`() throws {
        let servers = try ["first", "second"].map { text in
            try ScriptedServer { peer in
                try peer.upgrade()
                try peer.sendText(text)
                _ = try peer.readFrame()
            }
        }
        var endpoints: [Endpoint] = []
        for server in servers { endpoints.append(try Endpoint(url: server.url)) }
        let engine = try Engine(endpoints: endpoints, connections: 2)
        let listener = Listener(engine: engine, until: 2)
        for server in servers.indices { _ = try engine.dial(tag: server, server: server) }
        try engine.run(listener)
        engine.closeAll()
        for server in servers { try server.finish() }
        expect(listener.messages, equals: [0: "first", 1: "second"])
        expect(engine.reads >= 2)
    }

    @Test func `a scenario gets the input and the end of its own pipe; a file cannot be attached`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let engine = try Engine(endpoint: Endpoint(url: "ws://127.0.0.1:1/"), connections: 1)
        let listener = Listener(engine: engine, until: 1)
        expect(engine.attach(ends[0]))
        expect(write(ends[1], "go", 2), equals: 2)
        try engine.run(listener)
        expect(listener.input, equals: ["go"])
        close(ends[1])
        try engine.run(listener)
        expect(listener.input, equals: ["go", ""])
        engine.detach(ends[0])
        close(ends[0])
        let nothing = open("/dev/null", O_RDONLY)
        expect(!engine.attach(nothing))
        close(nothing)
    }
}

/// Records the first message of each connection, and the input of pipes.
private final class Listener: Scenario {
    private let engine: Engine
    private let enough: Int
    var messages: [Int: String] = [:]
    var input: [String] = []

    init(engine: Engine, until enough: Int) {
        self.engine = engine
        self.enough = enough
    }

    func opened(_ connection: ConnectionID, tag: Int) {}

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        messages[tag] = String(decoding: message, as: UTF8.self)
        engine.close(connection)
        if messages.count == enough { engine.stop() }
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        engine.stop(Failure("connection \(tag): \(closing)"))
    }

    func tick(now: Instant) -> Instant? { nil }

    func readable(_ descriptor: Int32) {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &bytes, bytes.count)
        input.append(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
        engine.stop()
    }
}
