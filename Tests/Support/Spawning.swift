import Foundation

/// Starts processes that inherit only what is given.
///
/// Not Foundation's `Process`: its children inherit the blocked signals of the thread that starts them.
enum Spawning {
    struct Failure: Error { let reason: String }

    /// Starts a program by its path.
    ///
    /// - Parameters:
    ///   - descriptors: its input, output, and (the third) its descriptor 3; it gets no others.
    static func start(
        _ words: [String], environment: [String: String], complaints: String?, descriptors: [CInt]
    ) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        // Descriptors of ours are above 3 (Descriptors), so that none is replaced before it was copied.
        for (place, descriptor) in zip([0, 1, 3] as [CInt], descriptors) {
            posix_spawn_file_actions_adddup2(&files, descriptor, place)
        }
        if let complaints {
            posix_spawn_file_actions_addopen(&files, 2, complaints, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }

        let ours = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PRESENCE_") }
        let variables = ours.merging(environment) { $1 }.map { "\($0)=\($1)" }
        // C strings, owned here, freed when the child has its copies.
        let argv = words.map { strdup($0) } + [nil]
        let environ = variables.map { strdup($0) } + [nil]
        defer { for string in argv + environ { free(string) } }
        var id: pid_t = 0
        let failure = posix_spawn(&id, words[0], &files, &attributes, argv, environ)
        guard failure == 0 else { throw Failure(reason: "\(words[0]): \(String(cString: strerror(failure)))") }
        return id
    }
}

/// Ends of sockets that no child gets by accident.
enum Descriptors {
    /// Not a pipe: another child that is started at the same time might inherit its ends before they are marked.
    static func pair() throws -> (ours: CInt, theirs: CInt) {
        var ends: [CInt] = [0, 0]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Spawning.Failure(reason: "no socket: \(errno)") }
        return try (raised(ends[0]), raised(ends[1]))
    }

    /// The same, with numbers above those that children use.
    private static func raised(_ descriptor: CInt) throws -> CInt {
        if descriptor > 3 { return descriptor }
        defer { close(descriptor) }
        let raised = fcntl(descriptor, F_DUPFD_CLOEXEC, 4)
        guard raised > 3 else { throw Spawning.Failure(reason: "no descriptor: \(errno)") }
        return raised
    }
}
