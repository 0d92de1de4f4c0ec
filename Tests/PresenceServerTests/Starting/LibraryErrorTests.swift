import CLibWebSockets
import EventLoops
import Logging
import Testing
import WebSockets

@testable import PresenceServer
@testable import Simulator

/// Errors of libwebsockets reach the server's log.
@Suite struct LibraryErrorTests {
    @Test func `errors of libwebsockets are logged, at most one a second`() async throws {
        let lines = LogLines()
        let logger = Logger(label: "library") { _ in KeepingLogHandler(lines) }
        let loop = try EventLoop(name: "library")
        loop.start()
        defer {
            loop.stop()
            loop.join()
        }
        // Creating the first context sets the destination of libwebsockets' log.
        try await OnLoop(loop).make()
        LibraryErrors.log(to: logger)
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
