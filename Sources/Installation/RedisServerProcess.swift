import EventLoops
import Foundation
public import Logging

/// A child process `redis-server` that runs exactly as long as its server.
///
/// - A data directory has at most one child: the directory is locked before the child starts.
/// - The child ends with this process: by ``stop()``, or by a signal of the kernel if this process is killed. If the
///   signal does not end it, the next start in the same directory does.
/// - If the child dies earlier, it is restarted: at first immediately, then after growing pauses (0.1 to 5 s).
/// - The child leaves no zombie, and reads no files of a system-wide Redis.
///
/// One thread does all this except syncing the log. The kernel's signal is sent when the thread that started the child
/// ends, and waiting for a child blocks its thread.
public final class RedisServerProcess: Sendable {
    /// Changes of the child's state after its first start.
    public enum Event: Sendable, Equatable {
        /// The child ended unexpectedly; `reason` is how it ended. Connections to it break by themselves.
        case died(reason: String)
        /// The child answers again.
        case restarted
    }

    /// The values of Redis' own setting. With any of them, no acknowledged command is lost if only Redis dies.
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
        /// The child, from its start until it has been reaped: until then no other process has its number.
        var child: pid_t?
        var isStopping = false
        /// No thread runs.
        var isFinished = true
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// - Parameters:
    ///   - directory: The directory of its data.
    ///   - appendfsync: When its log is synced to the disk.
    ///   - onEvent: Called on the supervising thread.
    /// - Throws: ``StartFailure`` if its socket has no usable path.
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

    /// The address for clients: `unix://` and the path of its socket.
    public var url: String { "unix://\(socket)" }

    /// The child's process id while there is one.
    public var processID: Int32? { state.withLock { $0.child } }

    /// Locks the directory, ends a Redis that an earlier server left, starts the child, and waits until the child
    /// answers. This takes as long as the child needs to read its log. Call it once.
    ///
    /// - Throws: ``StartFailure`` with Redis' last output, if Redis failed.
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

    /// Ends the child and returns after it has ended. The child writes its log to the disk first. It is killed after
    /// 10 s.
    ///
    /// Call it when no client uses Redis any more. May be called more than once, and after a failed start.
    public func stop() async {
        let child = state.withLock { state in
            state.isStopping = true
            // Under the lock, so that the number still belongs to the child. SIGTERM is Redis' SHUTDOWN.
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
