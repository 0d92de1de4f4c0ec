import Foundation

/// The terminal from which the process was started, if there was one.
///
/// The same signal, SIGHUP, means that the terminal was closed or that the server should reload. A server whose terminal is
/// closed must end with it, like any command. If it never had a terminal, or still has it, the signal means a reload.
struct Terminal {
    private let wasThere = Terminal.isThere

    /// Whether there was a terminal at the start that has been closed since.
    var isGone: Bool { wasThere && !Self.isThere }

    private static var isThere: Bool {
        let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }
}
