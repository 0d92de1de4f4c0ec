import Foundation
import Redis

/// A real `redis-server` in a temporary directory, on a Unix socket and a free TCP port.
///
/// It runs under a shell that kills it as soon as its own input ends: when this object is stopped or released, and
/// also when the whole test process crashes.
final class RedisServer {
    let directory: String
    let port: UInt16
    var socketPath: String { directory + "/socket" }

    private let arguments: [String]
    private var shell: pid_t?
    /// Our end of the shell's input and output.
    private var lifeline: CInt = -1
    private(set) var pid: pid_t = 0

    /// Ready to serve when this returns.
    init(_ arguments: [String] = []) throws {
        var template = Array("/tmp/RedisTests-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(log: "no temporary directory") }
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        port = try FreePort.find()
        self.arguments = arguments
        try start()
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Starts it (again), at the same addresses; returns when a line of its log contains `line`.
    func start(_ more: [String] = [], until line: String = "Ready to accept connections") throws {
        let script = #"redis-server "$@" </dev/null & echo $!; cat >/dev/null; kill -9 $! 2>/dev/null; wait"#
        let settings = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--unixsocket", socketPath, "--dir", directory, "--save", "",
            "--appendonly", "no",
        ]
        let (shell, lifeline) = try Self.spawn(["/bin/sh", "-c", script, "sh"] + settings + arguments + more)
        (self.shell, self.lifeline) = (shell, lifeline)

        // The shell says the process's id, the server everything else, in any order.
        var lines = LineReader(lifeline)
        var text = ""
        var isUp = false
        pid = 0
        while let next = lines.next() {
            text += next + "\n"
            if let id = pid_t(next) { pid = id } else if next.contains(line) { isUp = true }
            guard isUp, pid > 0 else { continue }
            // Left unread, a full socket would stop the server. The thread closes the descriptor when it is done.
            let rest = lines
            Thread.detachNewThread { rest.discardAllAndClose() }
            return
        }
        kill()
        close(lifeline)
        throw Failure(log: text)
    }

    /// kill -9; it is gone when this returns.
    func kill() {
        guard let shell else { return }
        if pid > 0 { Foundation.kill(pid, SIGKILL) }
        self.shell = nil
        // The end of the shell's input; our reading end stays open until its reader has seen the end.
        shutdown(lifeline, CInt(SHUT_WR))
        while waitpid(shell, nil, 0) < 0, errno == EINTR {}
    }

    /// Stops it as a whole; it neither answers nor closes.
    func pause() { Foundation.kill(pid, SIGSTOP) }
    func resume() { Foundation.kill(pid, SIGCONT) }

    /// Makes a server go on that loads its data slowly, while it refuses everything else.
    func loadFast() throws {
        let command = ["/usr/bin/env", "redis-cli", "-s", socketPath, "CONFIG", "SET", "key-load-delay", "0"]
        let (cli, output) = try Self.spawn(command)
        LineReader(output).discardAllAndClose()
        while waitpid(cli, nil, 0) < 0, errno == EINTR {}
    }

    var unix: RedisEndpoint { RedisEndpoint(.unix(path: socketPath)) }
    var tcp: RedisEndpoint { RedisEndpoint(.tcp(host: "127.0.0.1", port: port)) }

    /// A connection to set things up and look at them with.
    func admin() throws -> BlockingRedis { try BlockingRedis(unix) }

    /// Starts a process; its input and output are one end of what is returned. No other child gets the ends.
    private static func spawn(_ words: [String]) throws -> (pid: pid_t, descriptor: CInt) {
        var ends: [CInt] = [0, 0]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure(log: "no socket: \(errno)") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        var pid = pid_t()
        let arguments = words.map { strdup($0) } + [nil]
        let result = posix_spawn(&pid, words[0], &actions, nil, arguments, environ)
        arguments.forEach { free($0) }
        posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
        guard result == 0 else { throw Failure(log: "cannot start \(words[0]): \(result)") }
        return (pid, ends[0])
    }

    struct Failure: Error { let log: String }
}
