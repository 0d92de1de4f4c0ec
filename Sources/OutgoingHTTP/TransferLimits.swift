/// The limits of a transfer: its time, and the size of its response.
public struct TransferLimits: Sendable, Equatable {
    /// Seconds for the whole transfer, from the request on: waiting in the queue, resolving the name, the response.
    public var total = 15.0
    /// Seconds for waiting in the queue, if the total begins only after it; `nil`: the total includes the wait.
    public var waiting: Double?
    /// Seconds for resolving the name and connecting, TLS included; part of the total.
    public var connecting = 5.0
    /// Bytes of a response's body.
    public var responseBytes = 1_048_576

    public init() {}
}
