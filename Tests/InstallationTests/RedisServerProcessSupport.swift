import Foundation
import Testing

/// A Redis client of a few lines: one command and its one-line or bulk reply at a time, blocking.
struct PlainRedis: ~Copyable {
    private let descriptor: Int32

    init(socket path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else { throw CocoaError(.fileReadUnknown) }
    }

    deinit { close(descriptor) }

    /// Sends the words and returns the raw answer; `nil` if there was none.
    func command(_ text: String) -> String? {
        let bytes = Array((text + "\r\n").utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return nil }
        var reply = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &reply, reply.count, 0)
        return count > 0 ? String(decoding: reply.prefix(count), as: UTF8.self) : nil
    }
}

/// A process that a test starts by hand, killed and reaped when the value is released.
///
/// Not Foundation's: its children inherit the blocked signals of the thread that starts them, SIGTERM among them.
final class HandStarted {
    let id: pid_t

    init(_ arguments: [String], in directory: String = "/") throws {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0)
        // C strings, owned here, freed when the child has its copies. The shell only changes the directory.
        let words = ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, directory] + arguments
        let argv = words.map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        var id: pid_t = 0
        guard posix_spawn(&id, "/bin/sh", &files, &attributes, argv, environ) == 0 else {
            throw CocoaError(.executableLoad)
        }
        self.id = id
    }

    deinit {
        kill(id, SIGKILL)
        var status: Int32 = 0
        waitpid(id, &status, 0)
    }
}

/// Waits for a condition without an event, such as the state of other processes.
func eventually(
    _ what: String, within patience: Duration = .seconds(50), sourceLocation: SourceLocation = #_sourceLocation,
    _ isSo: () throws -> Bool
) async rethrows {
    let deadline = ContinuousClock.now + patience
    var isLate = false
    while true {
        if try isSo() { return }
        // A busy machine may schedule us only after all the time: then the condition is checked once more.
        if isLate { break }
        isLate = .now >= deadline
        try? await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("not within \(patience): \(what)", sourceLocation: sourceLocation)
}

/// Whether a process exists and has not ended.
func isAlive(_ process: Int32) -> Bool {
    guard let status = FileManager.default.contents(atPath: "/proc/\(process)/stat") else { return false }
    return !String(decoding: status, as: UTF8.self).contains(") Z ")
}
