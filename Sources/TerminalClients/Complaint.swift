import Foundation

/// A sentence to the command's user, on standard error.
package enum Complaint {
    /// - Parameters:
    ///   - sentence: may hold what a server said.
    ///   - command: whose it is.
    package static func print(_ sentence: String, by command: String) {
        _ = Output(STDERR_FILENO).write("\(command): \(Label(sentence).text)\n")
    }
}
