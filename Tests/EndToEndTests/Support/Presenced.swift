import EventLoops
import Foundation
import PresenceKit
import TestSupport
import Testing

/// A `presenced`, started as a person would start it, on a free port. It ends with this object, and with the test
/// process.
final class Presenced: Sendable {
    let directory: TemporaryDirectory
    /// Its address; the same after another start.
    var url: URL { URL(string: "ws://127.0.0.1:\(port)/v1/ws")! }
    var port: UInt16 { state.withLock(\.port) }
    /// Its process, if it runs.
    var process: ChildProcess? { state.withLock(\.process) }

    private let settings: [String: String]
    private let arguments: [String]
    private let state = Locked(State())

    private struct State {
        var process: ChildProcess?
        var port: UInt16 = 0
    }

    /// Returns when the server accepts connections.
    ///
    /// - Parameters:
    ///   - directory: its data directory; by default one of its own.
    ///   - redis: the address of a shared Redis; by default one of its own.
    ///   - settings: by their keys in the configuration; passed through the environment.
    ///   - arguments: further ones on the command line.
    init(
        directory: TemporaryDirectory? = nil, redis: String? = nil, settings: [String: String] = [:],
        arguments: [String] = []
    ) async throws {
        self.directory = try directory ?? TemporaryDirectory()
        self.settings = settings
        self.arguments = (redis.map { ["--redis", $0] } ?? []) + arguments
        try await start()
    }

    /// Starts it (again), on the same port and directory, and waits until it serves.
    func start() async throws {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let log = directory.file("server-\(UInt32.random(in: 0 ... .max)).log")
        let words = ["serve", "--port", "\(port)", "--data-dir", directory.path] + arguments
        let process = try ChildProcess(
            [Self.program] + words, environment: Self.variables(settings), complaints: log,
            onLine: { line in
                if let line { continuation.yield(line) } else { continuation.finish() }
            })
        let first = try await Patience.wait(for: "a server that serves") { await lines.first { _ in true } }
        guard let address = first?.wholeMatch(of: #/listening on ws://127\.0\.0\.1:(\d+)/v1/ws/#),
            let port = UInt16(address.1)
        else {
            let complaints = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw Patience.Exhausted(description: "\(first ?? "nothing") instead of an address\n\(complaints)")
        }
        state.withLock { $0 = State(process: process, port: port) }
    }

    /// Stops it with SIGTERM, and waits for its end. Returns its exit status.
    @discardableResult
    func stop(_ signal: Int32 = SIGTERM) async throws -> Int32 {
        guard let process else { return 0 }
        process.signal(signal)
        let status = try await Patience.end(of: process)
        state.withLock { $0.process = nil }
        return status
    }

    /// kill -9; the process has ended when this returns.
    func kill() {
        process?.kill()
        state.withLock { $0.process = nil }
    }

    /// The output of `presenced token`.
    func token(_ user: String, expires: String = "24h", role: String = "user") async throws -> String {
        let result = try await Self.run([
            "token", user, "--data-dir", directory.path, "--expires", expires, "--role", role,
        ])
        return try #require(result.status == 0 ? result.output.first : nil, "\(result)")
    }

    /// A client of it with short reconnect times.
    func client(
        _ user: String, device: Device = Device(kind: .phone),
        _ change: (inout PresenceClient.Configuration) -> Void = { _ in }
    ) -> PresenceClient {
        var configuration = PresenceClient.Configuration()
        configuration.reconnectBase = .milliseconds(50)
        configuration.reconnectCap = .milliseconds(400)
        configuration.requestTimeout = Patience.limit
        // A token is a process to start, on a machine that is busy with tests.
        configuration.patience = Patience.limit
        change(&configuration)
        return PresenceClient(
            url: url, token: { try await self.token(user) }, device: device, configuration: configuration)
    }
}

extension Presenced {
    /// A command's output and exit status.
    struct Result: Sendable {
        var status: Int32
        var output: [String]
        var complaints: [String]
    }

    /// Runs the command to its end.
    static func run(_ words: [String], settings: [String: String] = [:]) async throws -> Result {
        let place = try TemporaryDirectory()
        let log = place.file("stderr")
        let output = Locked<[String]>([])
        let process = try ChildProcess(
            [program] + words, environment: variables(settings), complaints: log,
            onLine: { line in
                if let line { output.withLock { $0.append(line) } }
            })
        let status = try await Patience.end(of: process)
        let complaints = try String(contentsOfFile: log, encoding: .utf8)
        return Result(
            status: status, output: output.withLock(\.self),
            complaints: complaints.split(separator: "\n").map(String.init))
    }

    /// The command: `PRESENCED`, or the one beside the tests in the build directory.
    static let program: String = {
        if let path = ProcessInfo.processInfo.environment["PRESENCED"], !path.isEmpty { return path }
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
        let candidates = bundles.map { URL(filePath: $0).deletingLastPathComponent().path + "/presenced" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? ".build/debug/presenced"
    }()

    /// `heartbeat.interval` is `PRESENCE_HEARTBEAT_INTERVAL`.
    private static func variables(_ settings: [String: String]) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: settings.map { key, value in
                let words = key.replacing(#/[A-Z]/#) { "_\($0.output)" }.replacing(".", with: "_")
                return ("PRESENCE_\(words.uppercased())", value)
            })
    }
}
