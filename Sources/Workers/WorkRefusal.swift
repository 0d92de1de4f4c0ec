/// Why a job was not run.
public enum WorkRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// As many jobs wait as may, or the next one would wait for too long.
    ///
    /// - Parameter retryAfter: When there may be room, in seconds: how long those that wait will take, as far as that can be
    ///   told from the jobs before them; from 0.1 to 60.
    case overloaded(retryAfter: Double)
    /// The pool has been stopped.
    case stopped

    public var description: String {
        switch self {
        case .overloaded: "too many jobs wait"
        case .stopped: "no more jobs are run"
        }
    }
}
