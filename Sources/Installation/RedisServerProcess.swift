import EventLoops
import Foundation
public import Logging

/// A `redis-server` of the server's own: a child that lives exactly as long as its server.
///
/// - One for a data directory: the directory is locked first.
/// - It ends with us, however we end: asked to at ``stop()``; by the kernel's signal if we are killed; and if even that
///   failed, at the next start in the same directory.
/// - If it dies while we live, it is started again, at once and then ever more slowly (0.1 to 5 s).
/// - It leaves no zombie, and reads nothing that belongs to a Redis of the system.
///
/// One thread does it all (but for forcing the log to the disk), because the kernel ties the child's end to the thread that started it, and because waiting
/// for a child blocks.
public final class RedisServerProcess: Sendable {
    /// What happens to the child after its first start.
    public enum Event: Sendable, Equatable {
        /// It ended unasked; `reason` says how. Its connections break by themselves.
        case died(reason: String)
        /// It answers again.
        case restarted
    }

    /// As Redis' own setting of that name, but that nothing which was answered is lost if Redis alone dies.
    public enum AppendFsync: String, Sendable, CaseIterable {
        case always
        case everySecond = "everysec"
        case no
    }

    let directory: DataDirectory
    let appendfsync: AppendFsync
    let socket: String
    let logger: Logger
    let onEvent: @Sendable (Event) -> Void

    let state = Locked(State())
    /// Rung once by `stop()`, to wake the thread from the pause before a restart.
    let doorbell = DispatchSemaphore(value: 0)

    struct State {
        /// The child, from its start until it has been reaped: so long no other process has its number.
        var child: pid_t?
        var isStopping = false
        /// No thread runs.
        var isFinished = true
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// - Parameters:
    ///   - directory: Where it keeps its data.
    ///   - appendfsync: When it forces its log to the disk.
    ///   - onEvent: Called on the supervising thread.
    /// - Throws: ``StartFailure`` if no place for its socket can be had.
    public init(
        directory: DataDirectory, appendfsync: AppendFsync, logger: Logger,
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws(StartFailure) {
        self.directory = directory
        self.appendfsync = appendfsync
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
}
