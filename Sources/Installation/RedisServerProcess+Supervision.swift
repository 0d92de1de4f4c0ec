import Foundation

/// The thread that starts the child, waits for it and restarts it: all code here runs on it.
extension RedisServerProcess {
    /// Pauses before successive restarts, in ms.
    private static let pauses = [100, 200, 500, 1_000, 2_000, 5_000]
    /// After a child has run for this long, the pauses begin anew.
    private static let steady: Duration = .seconds(10)
    /// The longest time for which a child may neither answer nor report that it reads its log.
    private static let startPatience: Duration = .seconds(30)

    func run(_ started: (Result<Void, any Error>) -> Void) {
        var lock: DirectoryLock?
        let syncEnd = DispatchSemaphore(value: 0)
        do {
            lock = try DirectoryLock(directory)
            try endLeftovers()
            try launch()
            if appendfsync == .everySecond {
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
        // Only now may another server use the directory.
        withExtendedLifetime(lock) {}
        lock = nil
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for the end of the running child, and starts the next one, until `stop()`.
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

    /// Starts a child and waits until it answers. If it does not, it has been ended when this throws.
    private func launch() throws(StartFailure) {
        let logBegan = logSize
        let result = state.withLock { state -> Result<pid_t, StartFailure> in
            if state.isStopping { return .failure(.stopped) }
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

    /// Whether the child has ended. Does not reap it.
    private func hasEnded(_ child: pid_t) -> Bool {
        var information = siginfo_t()
        return waitid(P_PID, id_t(child), &information, WEXITED | WNOHANG | WNOWAIT) != 0
            || information.si_signo == SIGCHLD
    }

    /// Waits for the child's end and reaps it. Returns how it ended.
    private func reap() -> String {
        guard let child = processID else { return "" }
        var information = siginfo_t()
        // Waits without reaping. The child is reaped under the lock, so that `stop()` cannot signal another process
        // that has got the child's number.
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        var status: Int32 = 0
        state.withLock { state in
            _ = waitpid(child, &status, 0)
            state.child = nil
        }
        let signal = status & 0x7F
        return signal == 0 ? "exit status \(status >> 8 & 0xFF)" : "signal \(signal)"
    }
}
