import Foundation
import PresenceServer

/// Reads a password. It is never taken from the command line, which other users of the machine can see, and shells store.
enum PasswordInput {
    private static let mostBytes = 4_096

    /// Reads the first line of standard input. On a terminal it prompts, and does not echo the input.
    ///
    /// - Throws: ``ConsoleFailure`` if there is no password.
    static func read() throws(ConsoleFailure) -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try line() }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { throw ConsoleFailure("the terminal cannot be used") }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        StandardError.write("Password: ")
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            StandardError.write("\n")
        }
        return try line()
    }

    private static func line() throws(ConsoleFailure) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < mostBytes, Foundation.read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            bytes.append(byte)
        }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw ConsoleFailure("a password is read from standard input: its first line, in UTF-8")
        }
        return text
    }
}
