import Foundation

/// An error message to the user, on standard error.
package enum Complaint {
    /// - Parameters:
    ///   - sentence: may contain text from a server.
    ///   - command: the name of the command.
    package static func print(_ sentence: String, by command: String) {
        _ = Output(STDERR_FILENO).write("\(command): \(Label(sentence).text)\n")
    }
}
