import Foundation

/// Gives the terminal back as it was, also from a signal handler: at a crash nothing else would.
enum CrashRestore {
    // Written by the main actor only; read by it and by a signal handler that may interrupt any thread. Set last and taken
    // first, it guards the settings.
    nonisolated(unsafe) private static var descriptor: Int32 = -1
    // Never freed. Written by the main actor only; the handler finds it made, since it is by the first arming.
    nonisolated(unsafe) private static let settings = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    // Used by the main actor only.
    nonisolated(unsafe) private static var isHandling = false

    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    /// - Parameter settings: what to go back to.
    static func arm(descriptor: Int32, settings: termios) {
        self.settings.initialize(to: settings)
        self.descriptor = descriptor
        guard !isHandling else { return }
        isHandling = true
        for number in crashes {
            var action = sigaction()
            // Afterwards the signal does what it would have done.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | Int32(SA_NODEFER)
            // Captures nothing, and calls only what POSIX allows in a handler: write, tcsetattr, raise.
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
        // The sequence is in the program's constant data: it never moves or goes.
        let sequence = Terminal.leaveSequence
        _ = write(descriptor, sequence.utf8Start, sequence.utf8CodeUnitCount)
        // Keys that nobody read any more shall not reach the shell.
        tcsetattr(descriptor, TCSAFLUSH, settings)
    }
}
