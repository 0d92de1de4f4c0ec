/// The reason why a job was not run.
public enum WorkRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The queue is full, or the job would wait for too long.
    ///
    /// - Parameter retryAfter: When there may be room, in seconds, from 0.1 to 60: the expected time of the waiting
    ///   jobs, estimated from the jobs before them.
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
