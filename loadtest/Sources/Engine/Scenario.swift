/// What a test does with the engine's connections. The engine calls it on its one thread, one call at a time;
/// every method may open, send on and close any connection.
protocol Scenario: AnyObject {
    /// The WebSocket of `connection` is open; nothing has been sent on it.
    func opened(_ connection: ConnectionID, tag: Int)
    /// A text message came. `message` is valid during the call only; `at` is when it was read from the socket.
    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant)
    /// The connection is gone, and not because the scenario closed it.
    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing)
    /// The end of a turn of the loop, which comes at the latest when the scenario asked for it:
    /// it returns when the next one must come if nothing is received before; `nil` waits for whatever is received.
    func tick(now: Instant) -> Instant?
    /// A descriptor that the scenario attached to the engine can be read, or has ended.
    func readable(_ descriptor: Int32)
}

extension Scenario {
    func readable(_ descriptor: Int32) {}
}

/// One connection of an engine. An id of a connection that is gone stays harmless: nothing is sent to its successor.
struct ConnectionID: Hashable {
    var slot: UInt32
    var generation: UInt32
}
