import Foundation

/// The outcome of a command.
package enum Outcome: Hashable, Sendable {
    case done
    case failed(Failure)
    /// By this signal.
    case stopped(Int32)

    /// Runs a command, and prints its failure, if any, to standard error.
    ///
    /// - Returns: the exit status: 0, that of the failure, or the shell's status for a process ended by a signal.
    package static func status(
        of command: String, running body: () async throws(Failure) -> Outcome
    ) async -> Int32 {
        // The reader of the output may exit. The write reports that; without this, the signal would kill the process.
        signal(SIGPIPE, SIG_IGN)
        Output.reservePlaces()
        do throws(Failure) {
            switch try await body() {
            case .done: return 0
            case .stopped(let signal): return 128 + signal
            case .failed(let error): throw error
            }
        } catch {
            Complaint.print(error.sentence, by: command)
            return error.kind.rawValue
        }
    }
}
