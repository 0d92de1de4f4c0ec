import Foundation

/// The terminal as a full screen: no echo, keys without a delay, the former content restored at the end.
///
/// `enter` and `leave` may be called in any order and repeatedly. Ctrl-C, Ctrl-\ and Ctrl-Z still send signals, so that
/// other processes of the group receive them too; ``TerminalEvents`` handles them here. While entered, the terminal is
/// also restored after a crash (``CrashRestore``).
package final class Terminal {
    /// `/dev/tty`, so that standard input can be something else. Owned, and closed at the end.
    package let descriptor: Int32
    private var isEntered = false

    /// Alternate screen, no cursor, no wrapping (a line of the wrong width must not move other lines).
    private static let enterSequence = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
    static let leaveSequence: StaticString = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// `nil` if this process has no terminal.
    package init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
        if descriptor < 0 { return nil }
    }

    deinit {
        leave()
        close(descriptor)
    }

    package func enter() throws(Failure) {
        guard !isEntered else { return }
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else { throw Failure(.terminal, "the terminal does not answer") }
        CrashRestore.arm(descriptor: descriptor, settings: settings)
        isEntered = true
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        settings.c_iflag &= ~tcflag_t(IXON)
        tcsetattr(descriptor, TCSADRAIN, &settings)
        write(Self.enterSequence)
    }

    package func leave() {
        guard isEntered else { return }
        isEntered = false
        CrashRestore.restore()
    }

    /// Takes the terminal again after another process used it and may have changed its settings.
    package func enterAgain() throws(Failure) {
        leave()
        try enter()
    }

    package var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    package func write(_ text: String) {
        // A closed terminal is reported by a hang-up.
        _ = Output(descriptor).write(text)
    }
}
