/// One client of a storm.
struct StormClient {
    enum Stage: UInt8 {
        /// Without a connection, until it is due to dial.
        case waiting
        /// From dialling to the answer to its subscription.
        case coming
        case back
    }

    var connection: ConnectionID?
    var stage = Stage.waiting
    var comeback = Comeback()
    /// When it was due to dial.
    var due = Instant(nanoseconds: 0)
}
