import Foundation

extension RedisServerProcess {
    /// The program itself. Debian puts it where PATH finds it; a service's PATH may be short. The server's own package has
    /// it in a folder of its own, so that no other Redis runs for it.
    ///
    /// - Throws: ``StartFailure`` naming the package.
    static func findRedisServer() throws(StartFailure) -> String {
        guard let path = find("redis-server") else {
            throw StartFailure(
                "redis-server is not found: install it (on Debian: apt-get install redis-server), "
                    + "or use a Redis that runs elsewhere with --redis URL")
        }
        return path
    }

    static func find(_ program: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let directories =
            path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/local/bin", "/usr/libexec/presence"]
        return directories.lazy.map { $0 + "/" + program }.first { access($0, X_OK) == 0 }
    }

    /// Starts the child: in a process group of its own, so that a Ctrl-C in our terminal does not reach it before
    /// us; with no open file of ours; and, through `setpriv` of util-linux, with the order to the kernel to end it
    /// (SIGTERM) when the calling thread goes, which is when we do, however we die. No shell is involved.
    ///
    /// - Returns: The child's process id, which is Redis' own.
    func spawn() throws(StartFailure) -> pid_t {
        let program = try Self.findRedisServer()
        // Said here by its name: starting the program fails for the lack of it as if the program were not there.
        guard access(directory.path, F_OK) == 0 else {
            throw StartFailure("the data directory \(directory.path) is gone: Redis cannot be started without it")
        }
        let settings = Self.settings(directory: directory, socket: socket, appendfsync: appendfsync)
        var arguments = [program] + settings.flatMap { ["--" + $0.name] + $0.value }
        if let setpriv = Self.find("setpriv") { arguments = [setpriv, "--pdeathsig", "TERM"] + arguments }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)

        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
        // What Redis says before it has opened its log: a setting that it does not take, for one.
        posix_spawn_file_actions_addopen(&files, 1, directory.file("redis.log"), O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&files, 1, 2)
        for descriptor in Self.inheritableDescriptors() { posix_spawn_file_actions_addclose(&files, descriptor) }

        // C strings, owned here, freed when the child has its copies.
        let argv = arguments.map { strdup($0) } + [nil]
        let environment = [strdup("PATH=/usr/bin:/bin"), strdup("LC_ALL=C"), nil]
        defer { for string in argv + environment { free(string) } }
        // Of the whole process, and for good: what a server with data of its own writes is for its user alone. Redis' log has what
        // accounts are taken over with.
        umask(0o077)
        var child: pid_t = 0
        let failure = posix_spawn(&child, arguments[0], &files, &attributes, argv, environment)
        guard failure == 0 else {
            throw StartFailure("\(arguments[0]) cannot be started: \(String(cString: strerror(failure)))")
        }
        return child
    }

    /// Our open files beyond the standard three that a child would inherit: those of libraries that do not mark theirs.
    /// One that is opened by another thread right now may be missed; it costs the child a file, and no one anything else.
    private static func inheritableDescriptors() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.filter { descriptor in
            let flags = fcntl(descriptor, F_GETFD)
            return descriptor > 2 && flags >= 0 && flags & FD_CLOEXEC == 0
        }
    }
}
