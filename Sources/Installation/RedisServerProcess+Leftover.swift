import Foundation

extension RedisServerProcess {
    /// The time that Redis gets to write out its data before it is killed.
    static let patience: Duration = .seconds(10)

    /// Ends every `redis-server` that still runs in the data directory, left over by a server that was killed.
    ///
    /// The leftover is not reused: a new `redis-server` is a child that can be waited for, with the current settings.
    /// Nothing is lost, since the leftover gets time to write out its log. Called with the directory locked, so the
    /// leftover belongs to no other server.
    ///
    /// - Throws: ``StartFailure`` if one cannot be ended.
    func endLeftovers() throws(StartFailure) {
        for process in Self.leftovers(in: directory) {
            logger.notice("ending a Redis left over by a server that was killed", metadata: ["pid": "\(process)"])
            for (signal, patience) in [(SIGTERM, Self.patience), (SIGKILL, .seconds(5))] {
                // Checked again right before the kill, because the process id may belong to another process by now.
                guard Self.isLeftover(process, in: directory) else { break }
                kill(process, signal)
                let deadline = ContinuousClock.now + patience
                while Self.isLeftover(process, in: directory), .now < deadline { usleep(10_000) }
            }
            if Self.isLeftover(process, in: directory) {
                throw StartFailure("the Redis left over in \(directory.path) (process \(process)) does not end")
            }
        }
    }

    static func leftovers(in directory: DataDirectory) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { isLeftover($0, in: directory) }
    }

    /// Whether the process is a `redis-server` whose working directory is the data directory: Redis changes to its
    /// `dir` before it does anything there. No other process matches, whatever its number.
    private static func isLeftover(_ process: pid_t, in directory: DataDirectory) -> Bool {
        guard process != getpid(), link("/proc/\(process)/cwd") == directory.path,
            let status = FileManager.default.contents(atPath: "/proc/\(process)/stat").map({
                String(decoding: $0, as: UTF8.self)
            }),
            let name = status.split(separator: "(", maxSplits: 1).last, name.hasPrefix("redis-server)")
        else { return false }
        // A zombie has ended; its parent has not reaped it yet.
        return !name.hasPrefix("redis-server) Z")
    }

    private static func link(_ path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }
}
