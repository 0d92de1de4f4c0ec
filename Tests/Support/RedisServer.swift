import EventLoops
import Foundation
package import Redis

/// A real `redis-server` in a temporary directory, on a Unix socket and a free TCP port. It ends with this object, and
/// with the test process.
package final class RedisServer {
    package let port: UInt16
    package var socketPath: String { place.file("socket") }
    /// Its address, in the form of a server's setting.
    package var url: String { "unix://\(socketPath)" }
    /// Its process while it runs.
    package var pid: pid_t { process?.id ?? 0 }

    private let place: TemporaryDirectory
    private let arguments: [String]
    private var process: ChildProcess?

    /// Ready to serve when this returns.
    package init(_ arguments: [String] = []) throws {
        place = try TemporaryDirectory()
        self.arguments = arguments
        port = try FreePort.find()
        try start()
    }

    /// Starts it (again), at the same addresses; returns when a line of its log contains `line`.
    package func start(_ more: [String] = [], until line: String = "Ready to accept connections") throws {
        let settings = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--unixsocket", socketPath, "--dir", place.path, "--save", "",
            "--appendonly", "no",
        ]
        // Its output until it was ready or ended.
        let said = Locked<[String]?>([])
        let isUp = Locked(false)
        let decided = DispatchSemaphore(value: 0)
        process = try ChildProcess(["redis-server"] + settings + arguments + more) { next in
            said.withLock { lines in
                guard lines != nil else { return }
                if let next { lines?.append(next) }
                guard next?.contains(line) != false else { return }
                isUp.withLock { $0 = next != nil }
                if next != nil { lines = nil }
                decided.signal()
            }
        }
        decided.wait()
        guard isUp.withLock(\.self) else {
            throw Failure(log: said.withLock { $0 ?? [] }.joined(separator: "\n"))
        }
    }

    /// kill -9; the process has ended when this returns.
    package func kill() {
        process?.kill()
        process = nil
    }

    /// Stops it as a whole; it neither answers nor closes.
    package func pause() { process?.signal(SIGSTOP) }
    package func resume() { process?.signal(SIGCONT) }

    /// Ends the slow loading of a server's data, during which it rejects everything else.
    package func loadFast() throws {
        let ended = DispatchSemaphore(value: 0)
        let cli = try ChildProcess(["redis-cli", "-s", socketPath, "CONFIG", "SET", "key-load-delay", "0"]) {
            if $0 == nil { ended.signal() }
        }
        ended.wait()
        withExtendedLifetime(cli) {}
    }

    package var unix: RedisEndpoint { RedisEndpoint(.unix(path: socketPath)) }
    package var tcp: RedisEndpoint { RedisEndpoint(.tcp(host: "127.0.0.1", port: port)) }

    /// A connection for preparing and checking the server.
    package func admin() throws -> BlockingRedis { try BlockingRedis(unix) }

    struct Failure: Error { let log: String }
}
