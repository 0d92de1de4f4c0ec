import ArgumentParser
import Foundation

/// What a command answers, on standard output.
enum StandardOutput {
    /// Writes a whole text and a line break, or ends the command with status 74 (EX_IOERR of sysexits.h): a disk that is
    /// full, or an output that is closed, must not pass for an answer that was given.
    static func print(_ text: String) throws {
        guard write(text + "\n") else {
            let reason = String(cString: strerror(errno))
            StandardError.print("standard output cannot be written: \(reason)")
            throw ExitCode(ExitStatus.outputLost)
        }
    }

    /// Whether all of it was taken.
    static func write(_ text: String) -> Bool { write(text, to: STDOUT_FILENO) }

    fileprivate static func write(_ text: String, to descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Takes the places of standard files that are closed, so that no file or socket of ours gets them and is written to as
    /// if it were one of those. What takes the outputs' place is not to be written to: writing is still noticed to fail.
    static func reservePlaces() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is taken, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}

/// What a command says beside its answer. What cannot be written is lost: there is no other place to say so.
/// (`FileHandle.write` traps when nobody reads.)
enum StandardError {
    /// A sentence of the command's.
    static func print(_ sentence: String) { write("presenced: \(sentence)\n") }

    static func write(_ text: String) { _ = StandardOutput.write(text, to: STDERR_FILENO) }
}
