import EventLoops
import Foundation
import TestSupport

/// A terminal with a running watcher or other program: its output becomes a picture, and keys can be pressed.
final class PseudoTerminal: Sendable {
    private let master: Int32
    /// Kept open, so that the terminal can be checked after the watcher's end.
    private let slave: Int32
    let watcher: ChildProcess
    private let state = Locked(TerminalPicture())
    private let changes: AsyncStream<Void>

    init(
        width: Int, height: Int, program: String = Programs.watch, _ arguments: [String],
        environment: [String: String]
    ) throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        var name = [CChar](repeating: 0, count: 128)
        var size = winsize(ws_row: UInt16(height), ws_col: UInt16(width), ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&ends.master, &ends.slave, &name, nil, &size) == 0 else {
            throw Patience.Exhausted(description: "no pseudo terminal: \(errno)")
        }
        (master, slave) = ends
        let path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }

        // The first terminal that a session leader opens becomes its controlling terminal. The former output stays
        // open, because its end marks the end of the process.
        let script = #"terminal=$1; shift; exec "$@" 4>&1 <>"$terminal" >&0 2>&0"#
        let words = ["setsid", "sh", "-c", script, "sh", path, program] + arguments
        watcher = try ChildProcess(
            words, environment: ["TERM": "xterm", "NO_COLOR": ""].merging(environment) { $1 })

        let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.changes = changes
        // Ends when the master is closed. `deinit` hangs up by closing the test's end of the slave after the watcher's.
        Thread.detachNewThread { [master, weak self] in
            var bytes = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(master, &bytes, bytes.count)
                guard count > 0, let self else { break }
                self.state.withLock { $0.draw(bytes[..<count]) }
                continuation.yield()
            }
            continuation.finish()
            close(master)
        }
    }

    deinit {
        watcher.kill()
        close(slave)
    }

    func press(_ keys: String) { _ = Array(keys.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) } }

    /// The kernel notifies the watcher.
    func resize(width: Int, height: Int) {
        var size = winsize(ws_row: UInt16(height), ws_col: UInt16(width), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Whether lines are edited and echoed, as under a shell.
    var isAsBefore: Bool {
        var settings = termios()
        tcgetattr(slave, &settings)
        let flags = tcflag_t(ICANON | ECHO | ISIG)
        return settings.c_lflag & flags == flags && settings.c_iflag & tcflag_t(IXON) != 0
    }

    var picture: TerminalPicture { state.withLock(\.self) }

    /// Waits until the picture is as wanted.
    @discardableResult
    func until(
        _ what: String, _ isWanted: @escaping @Sendable (TerminalPicture) -> Bool
    ) async throws -> TerminalPicture {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                if isWanted(self.picture) { return }
                for await _ in self.changes where isWanted(self.picture) { return }
                throw Patience.Exhausted(
                    description: "the terminal ended before: \(what)\n\(self.picture.text)\n\(self.picture.main)")
            }
            group.addTask {
                try await Task.sleep(for: Patience.limit)
                throw Patience.Exhausted(
                    description: "not within \(Patience.limit): \(what)\n\(self.picture.text)\n\(self.picture.main)")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        return picture
    }
}
