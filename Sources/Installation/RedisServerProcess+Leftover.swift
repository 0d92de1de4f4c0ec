import Foundation

extension RedisServerProcess {
    /// How long a Redis may take to write out what it has before it is killed.
    static let patience: Duration = .seconds(10)

    /// Ends every `redis-server` that still works in the data directory: what a server left behind that was killed.
    ///
    /// It is not taken over: a new one is a child that can be waited for, with today's settings. Nothing is lost, since
    /// the old one gets the time to write its log out. Only called with the directory locked, so no other server's.
    ///
    /// - Throws: ``StartFailure`` if one cannot be ended.
    func endLeftovers() throws(StartFailure) {
        for process in Self.leftovers(in: directory) {
            logger.notice("ending a Redis left over by a server that was killed", metadata: ["pid": "\(process)"])
            for (signal, patience) in [(SIGTERM, Self.patience), (SIGKILL, .seconds(5))] {
                // Looked at again right before: the number may be somebody else's by now.
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
    /// `dir` before it does anything there. A stranger cannot be taken for one, whatever its number.
    private static func isLeftover(_ process: pid_t, in directory: DataDirectory) -> Bool {
        guard process != getpid(), link("/proc/\(process)/cwd") == directory.path,
            let status = FileManager.default.contents(atPath: "/proc/\(process)/stat").map({
                String(decoding: $0, as: UTF8.self)
            }),
            let name = status.split(separator: "(", maxSplits: 1).last, name.hasPrefix("redis-server)")
        else { return false }
        // A zombie has ended; only its parent has not looked yet.
        return !name.hasPrefix("redis-server) Z")
    }

    private static func link(_ path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }
}
