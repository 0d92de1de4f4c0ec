import Foundation

/// The terminal as a screen of its own: no echo, keys as they are pressed, the former picture back at the end.
///
/// `enter` and `leave` may be called in any order and more than once. Ctrl-C, Ctrl-\ and Ctrl-Z still make signals, so
/// that whatever was started with this process gets them too; ``TerminalEvents`` takes them. While it is entered, a
/// crash restores the terminal too (``CrashRestore``).
package final class Terminal {
    /// `/dev/tty`, so that it works with another standard input too; owned, closed at the end.
    package let descriptor: Int32
    private var isEntered = false

    /// Alternate screen, no cursor, no wrapping at the edge (a line that was measured wrong must not move the others).
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

    /// Someone else had the terminal meanwhile and may have changed it: takes it again.
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
        // A terminal that is gone says so by a hang-up.
        _ = Output(descriptor).write(text)
    }
}
