import CLibWebSockets
import EventLoops
import Expectations
import Logging
import PresenceCore
import Testing
import Tokens
import WebSockets

@testable import PresenceServer
@testable import Simulator

/// Errors of libwebsockets reach the server's log.
@Suite(.serialized) struct LibraryErrorTests {
    private let lines: LogLines
    private let logger: Logger

    init() {
        let lines = LogLines()
        self.lines = lines
        logger = Logger(label: "library") { _ in KeepingLogHandler(lines) }
    }

    /// Reports an error as libwebsockets does.
    private func fail() { lwsl_hexdump_level(Int32(LLL_ERR), "a fault", 7) }

    /// Creates a context: the first one sets the destination of libwebsockets' log.
    private func makeContext() async throws {
        let loop = try EventLoop(name: "library")
        loop.start()
        defer {
            loop.stop()
            loop.join()
        }
        try await OnLoop(loop).make()
    }

    @Test func `errors of libwebsockets are logged, at most one a second`() async throws {
        try await makeContext()
        LibraryErrors.log(to: logger)
        for _ in 0..<100 { fail() }
        let logged = lines.of("libwebsockets")
        expect((1...3).contains(logged.count), "\(logged)")
        expect(logged.first?.level == .error && logged.first?.fields["error"]?.isEmpty == false)
    }

    @Test func `a server that starts logs them`() async throws {
        try await makeContext()
        // The log has one destination: a server that another test starts meanwhile takes it over.
        for _ in 0..<10 where lines.of("libwebsockets").isEmpty {
            let server = Server(
                configuration: ServerConfiguration(),
                authenticator: try await Authenticator(configuration: .init(), secret: TokenSecret()),
                redis: "http://localhost", logger: logger)
            // The start ends early: no Redis has such an address.
            await #expect(throws: (any Error).self) { _ = try await server.start() }
            fail()
        }
        expect(lines.of("libwebsockets").first?.level, equals: .error)
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
