import Foundation

/// The terminal that the process was started from, if it was.
///
/// Its end and a wish to reload come as the same signal, SIGHUP. A server in a terminal that is closed has to end with
/// it, as any command; one that never had a terminal, or still has it, is being told to reload.
struct Terminal {
    private let wasThere = Terminal.isThere

    /// Whether it was there at the start, and has gone since.
    var isGone: Bool { wasThere && !Self.isThere }

    private static var isThere: Bool {
        let descriptor = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }
}
