import EventLoops
import Foundation
import PresenceKit
import TestSupport
import Testing

/// A real `presenced` with its own Redis, on a free port. It ends with this object, and with the test process.
final class Server: Sendable {
    let directory: TemporaryDirectory
    private let state = Locked<(process: ChildProcess?, port: UInt16)>((nil, 0))

    var port: UInt16 { state.withLock(\.port) }
    var url: String { "ws://127.0.0.1:\(port)/v1/ws" }
    private let settings: [String: String]

    /// Returns once the server is running.
    ///
    /// - Parameter settings: variables of its configuration.
    init(settings: [String: String] = [:]) async throws {
        self.settings = settings
        directory = try TemporaryDirectory()
        try await start()
    }

    /// Starts or restarts it on the same port and directory.
    func start() async throws {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let port = state.withLock(\.port)
        let process = try ChildProcess(
            [Programs.presenced, "serve", "--port", "\(port)", "--data-dir", directory.path, "--shards", "1"],
            environment: ["PRESENCE_LINGER": "500ms"].merging(settings) { $1 }, complaints: directory.file("log"),
            onLine: { line in
                if let line { continuation.yield(line) } else { continuation.finish() }
            })
        let line = try #require(await lines.first { _ in true })
        let found = try #require(line.split(separator: ":").last?.split(separator: "/").first.flatMap { UInt16($0) })
        state.withLock { $0 = (process, found) }
    }

    /// kill -9; the process has ended when this returns.
    func kill() {
        state.withLock { state in
            state.process?.kill()
            state.process = nil
        }
    }

    func token(_ user: String, expires: String = "1h") async throws -> String {
        let result = try await Programs.run([
            Programs.presenced, "token", user, "--data-dir", directory.path, "--expires", expires,
        ])
        return try #require(result.output.first, "\(result)")
    }

    /// A connected client of a user.
    func client(_ user: String, _ kind: Device.Kind = .phone) async throws -> PresenceClient {
        var configuration = PresenceClient.Configuration()
        configuration.reconnectCap = .milliseconds(200)
        let client = PresenceClient(
            url: try #require(URL(string: url)), token: try await token(user), device: Device(kind: kind),
            configuration: configuration)
        client.connect()
        // On a busy machine the first connection takes longer than a call waits.
        for await state in client.connectionStates where state.isConnected { break }
        return client
    }
}
