import Foundation

/// The shell command that restarts the server, and returns when it accepts connections again.
struct RestartCommand {
    private let process: pid_t

    /// Starts the command. Its output is sent to standard error: standard output is for the report.
    init(_ command: String) throws(Failure) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        // C strings, owned here, freed when the child has its copies.
        let words: [String] = ["sh", "-c", command]
        let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let environment: [UnsafeMutablePointer<CChar>?] =
            ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for string in arguments + environment { free(string) } }
        var process = pid_t()
        let status = posix_spawn(&process, "/bin/sh", &actions, nil, arguments, environment)
        guard status == 0 else { throw Failure("cannot run \(command): \(Failure.reason(status))") }
        self.process = process
    }

    /// Its exit status once it has ended, 128 and the signal if one ended it. Call it until then, and not after.
    func status() -> Int32? {
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}
