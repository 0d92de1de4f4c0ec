import EventLoops
import Foundation

/// A process that never outlives the test.
///
/// It runs under a shell that prints its id, records its status, and kills it as soon as the shell's own input ends:
/// when this object is released, and also when the whole test process crashes. It starts with no signal blocked or
/// ignored, as in a terminal, and without input.
package final class ChildProcess: Sendable {
    package let id: pid_t
    private let fate: Fate

    /// The state of the process, shared with the thread that reads its output and waits for it.
    private final class Fate: Sendable {
        struct State {
            /// From here on its id may be another's.
            var isOver = false
            /// In the shell's form: the exit status, or 128 and the signal that ended it.
            var status: Int32 = -1
        }

        let state = Locked(State())
        let gone = DispatchGroup()
    }

    /// - Parameters:
    ///   - words: the program, found in PATH, and its arguments.
    ///   - environment: in addition to our own, without variables for other servers.
    ///   - complaints: a file to which its standard error is appended; by default our own.
    ///   - onLine: called with each line of its standard output, on a thread of its own; `nil` at the end.
    package init(
        _ words: [String], environment: [String: String] = [:], complaints: String? = nil,
        onLine: @escaping @Sendable (String?) -> Void = { _ in }
    ) throws {
        let script = """
            env --default-signal "$@" </dev/null >&3 3>&- & exec 3>&-; echo $!; exec 2>/dev/null
            cat >/dev/null; kill -9 $! 2>/dev/null; wait $!; echo $?
            """
        let output = try Descriptors.pair()
        let lifeline = try Descriptors.pair()
        defer {
            close(output.theirs)
            close(lifeline.theirs)
        }
        let shell = try Spawning.start(
            ["/bin/sh", "-c", script, "sh"] + words, environment: environment, complaints: complaints,
            descriptors: [lifeline.theirs, lifeline.theirs, output.theirs])

        var said = LineReader(lifeline.ours)
        guard let id = said.next().flatMap({ pid_t($0) }) else { throw Spawning.Failure(reason: "no process") }
        self.id = id
        let fate = Fate()
        self.fate = fate
        fate.gone.enter()
        let rest = said
        // Owns our two descriptors, and the shell until it has been waited for.
        Thread.detachNewThread {
            var lines = LineReader(output.ours)
            while let line = lines.next() { onLine(line) }
            fate.state.withLock { $0.isOver = true }
            shutdown(lifeline.ours, CInt(SHUT_WR))
            var said = rest
            let status = said.next().flatMap { Int32($0) } ?? -1
            while waitpid(shell, nil, 0) < 0, errno == EINTR {}
            close(lifeline.ours)
            close(output.ours)
            fate.state.withLock { $0.status = status }
            fate.gone.leave()
            onLine(nil)
        }
    }

    deinit { kill() }

    /// Sends it a signal, unless it has ended.
    package func signal(_ number: Int32) {
        fate.state.withLock { state in
            if !state.isOver { _ = Foundation.kill(id, number) }
        }
    }

    /// kill -9; the process has ended when this returns.
    package func kill() {
        signal(SIGKILL)
        fate.gone.wait()
    }

    /// Blocks until it ends. Returns its exit status, or 128 and the signal that ended it.
    package func waitForStatus() -> Int32 {
        fate.gone.wait()
        return fate.state.withLock(\.status)
    }

    /// Waits until it ends. Returns its exit status, or 128 and the signal that ended it.
    package func status() async -> Int32 {
        await withCheckedContinuation { done in
            fate.gone.notify(queue: .global()) { [fate] in done.resume(returning: fate.state.withLock(\.status)) }
        }
    }
}
