import Foundation
public import Logging
import Synchronization

/// A `redis-server` of the server's own: a child that lives exactly as long as its server.
///
/// - One for a data directory: the directory is locked first.
/// - It ends with us, however we end: asked to at ``stop()``; by the kernel's signal if we are killed; and if even that
///   failed, at the next start in the same directory.
/// - If it dies while we live, it is started again, at once and then ever more slowly (0.1 to 5 s).
/// - It leaves no zombie, and reads nothing that belongs to a Redis of the system.
///
/// One thread does it all, because the kernel ties the child's end to the thread that started it, and because waiting
/// for a child blocks.
public final class RedisServerProcess: Sendable {
    /// What happens to the child after its first start.
    public enum Event: Sendable, Equatable {
        /// It ended unasked; `reason` says how. Its connections break by themselves.
        case died(reason: String)
        /// It answers again.
        case restarted
    }

    let directory: DataDirectory
    let redis: ServerConfiguration.Redis
    let socket: String
    let logger: Logger
    private let onEvent: @Sendable (Event) -> Void

    private let state = Mutex(State())
    /// Rung once by `stop()`, to wake the thread from the pause before a restart.
    private let doorbell = DispatchSemaphore(value: 0)

    private struct State {
        /// The child, from its start until it has been reaped: so long no other process has its number.
        var child: pid_t?
        var isStopping = false
        /// No thread runs.
        var isFinished = true
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Pauses before the restarts that follow each other closely, in ms.
    private static let pauses = [100, 200, 500, 1_000, 2_000, 5_000]
    /// A child that lived so long starts the pauses anew.
    private static let steady: Duration = .seconds(10)
    /// The longest that a child may neither answer nor say that it reads its log.
    private static let startPatience: Duration = .seconds(30)

    /// - Parameters:
    ///   - directory: Where it keeps its data.
    ///   - redis: How it keeps them.
    ///   - onEvent: Called on the supervising thread.
    /// - Throws: ``StartFailure`` if no place for its socket can be had.
    public init(
        directory: DataDirectory, redis: ServerConfiguration.Redis, logger: Logger,
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws(StartFailure) {
        self.directory = directory
        self.redis = redis
        self.logger = logger
        self.onEvent = onEvent
        socket = try Self.socketPath(in: directory)
    }

    /// How clients reach it: `unix://` and the path of its socket.
    public var url: String { "unix://\(socket)" }

    /// The child's process id while there is one.
    public var processID: Int32? { state.withLock { $0.child } }

    /// Locks the directory, ends what an earlier server left behind, starts the child and waits until it answers, which
    /// takes as long as it takes to read its log. Called once.
    ///
    /// - Throws: ``StartFailure`` with what Redis wrote last, if it was Redis.
    public func start() async throws {
        state.withLock { state in
            precondition(state.isFinished && !state.isStopping, "a RedisServerProcess is started once")
            state.isFinished = false
        }
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { self.run { continuation.resume(with: $0) } }
            thread.name = "redis-server"
            thread.start()
        }
    }

    /// Ends the child, its log written out, and returns when it is gone: after 10 s it is killed.
    ///
    /// For when nobody uses it any more. It may be called more than once, and after a start that failed.
    public func stop() async {
        let child = state.withLock { state in
            state.isStopping = true
            // Under the lock, so that the number is still the child's. SIGTERM is Redis' SHUTDOWN.
            if let child = state.child { kill(child, SIGTERM) }
            return state.child
        }
        doorbell.signal()
        let execution = Task { [patience = Self.patience] in
            guard (try? await Task.sleep(for: patience)) != nil else { return }
            logger.error("Redis does not end: killing it", metadata: ["pid": "\(child ?? 0)"])
            state.withLock { state in
                if let child = state.child { kill(child, SIGKILL) }
            }
        }
        await withCheckedContinuation { continuation in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.waiters.append(continuation) }
                return state.isFinished
            }
            if isFinished { continuation.resume() }
        }
        execution.cancel()
    }

    // MARK: The thread

    private func run(_ started: (Result<Void, any Error>) -> Void) {
        var lock: DirectoryLock?
        let syncEnd = DispatchSemaphore(value: 0)
        do {
            lock = try DirectoryLock(directory)
            try endLeftovers()
            try launch()
            if redis.appendfsync == .everySecond {
                let syncing = Thread { self.syncLog(until: syncEnd) }
                syncing.name = "redis-sync"
                syncing.start()
            }
            started(.success(()))
            superviseUntilStopped()
        } catch {
            started(.failure(error))
        }
        if socket != directory.file("redis.sock") { rmdir((socket as NSString).deletingLastPathComponent) }
        syncEnd.signal()
        // Only now may another server have the directory.
        withExtendedLifetime(lock) {}
        lock = nil
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for the end of the child, which runs when this is called, and starts the next, until `stop()`.
    private func superviseUntilStopped() {
        var failures = 0
        while true {
            let began = ContinuousClock.now
            var reason = reap()
            if .now - began > Self.steady { failures = 0 }
            repeat {
                if isStopping { return }
                let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
                failures += 1
                logger.error("Redis died", metadata: ["reason": "\(reason)", "restart_in_ms": "\(pause)"])
                onEvent(.died(reason: reason))
                if doorbell.wait(timeout: .now() + .milliseconds(pause)) == .success { return }
                do {
                    try launch()
                    reason = ""
                } catch {
                    reason = error.message
                }
            } while reason != ""
            onEvent(.restarted)
        }
    }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Starts a child and waits until it answers. If it does not, it is gone when this throws.
    private func launch() throws(StartFailure) {
        let logBegan = logSize
        let result = state.withLock { state -> Result<pid_t, StartFailure> in
            if state.isStopping { return .failure(StartFailure("stopped while starting")) }
            do throws(StartFailure) {
                let child = try spawn()
                state.child = child
                return .success(child)
            } catch {
                return .failure(error)
            }
        }
        let child = try result.get()

        var deadline = ContinuousClock.now + Self.startPatience
        while !hasEnded(child) {
            switch Self.probe(socket: socket) {
            case .ready:
                logger.info("Redis answers", metadata: ["pid": "\(child)", "socket": "\(socket)"])
                return
            case .loading: deadline = .now + Self.startPatience
            case .silent: break
            }
            if .now > deadline { kill(child, SIGKILL) }
            usleep(5_000)
        }
        let reason = reap()
        throw StartFailure("Redis did not start (\(reason))" + logTail(from: logBegan))
    }

    /// Whether the child has ended. It is left to be reaped.
    private func hasEnded(_ child: pid_t) -> Bool {
        var information = siginfo_t()
        return waitid(P_PID, id_t(child), &information, WEXITED | WNOHANG | WNOWAIT) != 0
            || information.si_signo == SIGCHLD
    }

    /// Waits for the child's end and frees its number. Returns how it ended.
    private func reap() -> String {
        guard let child = processID else { return "" }
        var information = siginfo_t()
        // First only looked at: until it is reaped under the lock, `stop()` can signal nobody else.
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        var status: Int32 = 0
        state.withLock { state in
            _ = waitpid(child, &status, 0)
            state.child = nil
        }
        let signal = status & 0x7F
        return signal == 0 ? "exit status \(status >> 8 & 0xFF)" : "signal \(signal)"
    }

    // MARK: Its log

    private var logSize: UInt64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory.file("redis.log"))
        return (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
    }

    /// The last lines that Redis wrote since its log was `offset` bytes long.
    private func logTail(from offset: UInt64) -> String {
        guard let log = FileHandle(forReadingAtPath: directory.file("redis.log")) else { return "" }
        defer { try? log.close() }
        try? log.seek(toOffset: offset)
        let text = String(decoding: (try? log.read(upToCount: 65_536)) ?? Data(), as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).suffix(5)
        return lines.isEmpty ? "" : ":\n  " + lines.joined(separator: "\n  ")
    }
}
