/// The test-specific use of the engine's connections. The engine calls it on its one thread, one call at a time; every
/// method may open, send on and close any connection.
protocol Scenario: AnyObject {
    /// The WebSocket of `connection` is open; nothing has been sent on it.
    func opened(_ connection: ConnectionID, tag: Int)
    /// A text message has arrived. `message` is valid during the call only; `at` is when it was read from the socket.
    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant)
    /// The connection has ended, and the scenario did not close it.
    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing)
    /// The end of a turn of the loop, at the latest at the requested time. Returns the time of the next call if nothing
    /// arrives before; `nil` waits for input.
    func tick(now: Instant) -> Instant?
    /// A descriptor that the scenario attached to the engine is readable, or has ended.
    func readable(_ descriptor: Int32)
}

extension Scenario {
    func readable(_ descriptor: Int32) {}
}

/// One connection of an engine. The id of an ended connection is harmless: nothing is sent to its successor.
struct ConnectionID: Hashable {
    var slot: UInt32
    var generation: UInt32
}
