import CLibWebSockets
import EventLoops
import Logging
import PresenceCore
import Testing
import Tokens
import WebSockets

@testable import PresenceServer
@testable import Simulator

/// What libwebsockets complains of reaches the server's log.
@Suite struct LibraryErrorTests {
    @Test func `what libwebsockets reports as an error is logged, and at most once a second`() async throws {
        let lines = LogLines()
        let logger = Logger(label: "library") { _ in KeepingLogHandler(lines) }
        let server = Server(
            configuration: ServerConfiguration(),
            authenticator: try await Authenticator(configuration: .init(), secret: nil), redis: "nonsense",
            logger: logger)
        // It starts as far as that.
        await #expect(throws: (any Error).self) { _ = try await server.start() }
        let loop = try EventLoop(name: "library")
        loop.start()
        defer {
            loop.stop()
            loop.join()
        }
        // The first context has libwebsockets' log told where to go.
        try await OnLoop(loop).make()
        for _ in 0..<100 { lwsl_hexdump_level(Int32(LLL_ERR), "a fault", 7) }
        let logged = lines.of("libwebsockets")
        #expect((1...3).contains(logged.count), "\(logged)")
        #expect(logged.first?.level == .error && logged.first?.fields["error"]?.isEmpty == false)
    }

    private actor OnLoop {
        nonisolated let unownedExecutor: UnownedSerialExecutor
        private let loop: EventLoop

        init(_ loop: EventLoop) {
            self.loop = loop
            unownedExecutor = loop.asUnownedSerialExecutor()
        }

        func make() throws {
            let context = try WebSocketClientContext(loop: loop, tls: false)
            context.destroy()
        }
    }
}
