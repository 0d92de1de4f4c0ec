/// How a command ends.
package enum Outcome: Hashable, Sendable {
    case done
    case failed(Failure)
    /// By this signal.
    case stopped(Int32)
}
