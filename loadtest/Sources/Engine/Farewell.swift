/// Waits until every connection has ended.
final class Farewell: Scenario {
    private let engine: Engine
    private let deadline: Instant

    init(engine: Engine, deadline: Instant) {
        self.engine = engine
        self.deadline = deadline
    }

    func opened(_ connection: ConnectionID, tag: Int) {}
    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {}
    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {}

    func tick(now: Instant) -> Instant? {
        if engine.open == 0 || now >= deadline { engine.stop() }
        return deadline
    }
}
