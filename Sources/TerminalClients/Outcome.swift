import Foundation

/// How a command ends.
package enum Outcome: Hashable, Sendable {
    case done
    case failed(Failure)
    /// By this signal.
    case stopped(Int32)

    /// Runs a command, and says on standard error why it failed, if it did.
    ///
    /// - Returns: the status to exit with: 0, that of the failure, or as a shell counts a process that a signal ended.
    package static func status(
        of command: String, running body: () async throws(Failure) -> Outcome
    ) async -> Int32 {
        // The reader of our lines may leave: the write reports that, and it is no reason to die.
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
