import Foundation

extension RedisServerProcess {
    /// The path of redis-server. Debian installs it in a folder of PATH, but a service's PATH may lack that folder. The
    /// server's own package brings redis-server in a separate folder, so that no second Redis runs as a system service.
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

    /// Starts the child without our open files, and in a process group of its own. So a Ctrl-C in our terminal does not
    /// reach the child before it reaches us. By `setpriv` of util-linux, the kernel sends the child SIGTERM when the
    /// calling thread ends, thus when this process ends for any reason. No shell is involved.
    ///
    /// - Returns: The child's process id, which is Redis' own.
    func spawn() throws(StartFailure) -> pid_t {
        let program = try Self.findRedisServer()
        // Checked here, because without the directory the start fails as if the program were missing.
        guard access(directory.path, F_OK) == 0 else {
            throw StartFailure("the data directory \(directory.path) does not exist: Redis cannot start without it")
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
        // Output of Redis from before it opens its log, for example about an invalid setting.
        posix_spawn_file_actions_addopen(&files, 1, directory.file("redis.log"), O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&files, 1, 2)
        for descriptor in Self.inheritableDescriptors() { posix_spawn_file_actions_addclose(&files, descriptor) }

        // C strings, owned here, freed when the child has its copies.
        let argv = arguments.map { strdup($0) } + [nil]
        let environment = [strdup("PATH=/usr/bin:/bin"), strdup("LC_ALL=C"), nil]
        defer { for string in argv + environment { free(string) } }
        // For the whole process, and permanently: the files of a server with data of its own are for its user only.
        // Redis' log contains values that would let a reader take over accounts.
        umask(0o077)
        var child: pid_t = 0
        let failure = posix_spawn(&child, arguments[0], &files, &attributes, argv, environment)
        guard failure == 0 else {
            throw StartFailure("\(arguments[0]) cannot be started: \(String(cString: strerror(failure)))")
        }
        return child
    }

    /// Our open files beyond the standard three that a child would inherit: those of libraries that do not set
    /// O_CLOEXEC. A file that another thread opens at this moment may be missed: it stays open in the child, without
    /// other harm.
    private static func inheritableDescriptors() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.filter { descriptor in
            let flags = fcntl(descriptor, F_GETFD)
            return descriptor > 2 && flags >= 0 && flags & FD_CLOEXEC == 0
        }
    }
}
