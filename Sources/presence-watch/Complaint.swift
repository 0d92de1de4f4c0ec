import Foundation

/// A sentence to the watcher's user, on standard error.
enum Complaint {
    /// - Parameter sentence: may hold what a server said.
    static func print(_ sentence: String) {
        _ = Output(STDERR_FILENO).write("presence-watch: \(Label(sentence).text)\n")
    }
}
