/// How long a transfer may take, and how much may come of it.
public struct TransferLimits: Sendable, Equatable {
    /// Seconds for all of it, from the moment it is asked for: waiting in the queue, finding the address, the answer.
    public var total = 15.0
    /// Seconds of these for finding the address and connecting, TLS included.
    public var connecting = 5.0
    /// Bytes of an answer's body.
    public var responseBytes = 1_048_576

    public init() {}
}
