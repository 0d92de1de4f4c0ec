import ArgumentParser
import Foundation

/// Prints the results of commands on standard output.
enum StandardOutput {
    /// Writes a text and a line break. If that fails, it ends the command with status 74 (EX_IOERR of sysexits.h): with
    /// a full disk or a closed output, a command must not appear to succeed.
    static func print(_ text: String) throws {
        guard write(text + "\n") else {
            let reason = String(cString: strerror(errno))
            StandardError.print("standard output cannot be written: \(reason)")
            throw ExitCode(ExitStatus.outputLost)
        }
    }

    /// Whether the whole text was written.
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

    /// Occupies the descriptors of closed standard streams. Otherwise a file or a socket would get such a descriptor, and
    /// receive output that is meant for the stream. The substitutes are read-only, so writing to a closed output still
    /// fails.
    static func reservePlaces() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // `open` uses the lowest free number, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}

/// Prints messages on standard error. A failed write is ignored, because there is no other place to report it.
/// (`FileHandle.write` traps if the reader has closed a pipe.)
enum StandardError {
    /// Prints a message of the command.
    static func print(_ sentence: String) { write("presenced: \(sentence)\n") }

    static func write(_ text: String) { _ = StandardOutput.write(text, to: STDERR_FILENO) }

    /// Does a command's work. An error ends the command: it is printed here.
    ///
    /// - Parameter status: The command's status for an error.
    static func explaining<Value>(
        as status: (any Error) -> Int32 = { _ in ExitStatus.failure }, _ work: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await work()
        } catch let error as ExitCode {
            throw error
        } catch {
            print("\(error)")
            throw ExitCode(status(error))
        }
    }
}
