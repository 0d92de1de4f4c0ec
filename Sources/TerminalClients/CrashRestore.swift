import Foundation

/// Restores the terminal, also from a signal handler after a crash.
enum CrashRestore {
    // Written by the main actor only; read by it and by a signal handler that may interrupt any thread. It is set last
    // and cleared first, and so guards the settings.
    nonisolated(unsafe) private static var descriptor: Int32 = -1
    // Never freed. Written by the main actor only. It is allocated by the first `arm`, before the handler can run.
    nonisolated(unsafe) private static let settings = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    // Used by the main actor only.
    nonisolated(unsafe) private static var isHandling = false

    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    /// - Parameter settings: the settings to restore.
    static func arm(descriptor: Int32, settings: termios) {
        self.settings.initialize(to: settings)
        self.descriptor = descriptor
        guard !isHandling else { return }
        isHandling = true
        for number in crashes {
            var action = sigaction()
            // After the handler, the signal has its default effect.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | Int32(SA_NODEFER)
            // Captures nothing, and calls only functions that POSIX allows in a handler: write, tcsetattr, raise.
            #if canImport(Glibc)
                action.__sigaction_handler.sa_handler = { number in
                    CrashRestore.restore()
                    raise(number)
                }
            #else
                action.__sigaction_u.__sa_handler = { number in
                    CrashRestore.restore()
                    raise(number)
                }
            #endif
            sigaction(number, &action, nil)
        }
    }

    /// Writes the leaving sequence and restores the settings, once after each arming.
    static func restore() {
        let descriptor = self.descriptor
        guard descriptor >= 0 else { return }
        self.descriptor = -1
        // The sequence is constant data of the program: it is never moved or freed.
        let sequence = Terminal.leaveSequence
        _ = write(descriptor, sequence.utf8Start, sequence.utf8CodeUnitCount)
        // Discards pending keys, so that they do not reach the shell.
        tcsetattr(descriptor, TCSAFLUSH, settings)
    }
}
