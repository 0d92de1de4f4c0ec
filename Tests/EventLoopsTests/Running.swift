import EventLoops

/// Runs `body` with a loop that is stopped afterwards, whatever happens.
func running(_ body: @Sendable (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop(name: "test")
    loop.start()
    defer {
        loop.stop()
        loop.join()
    }
    try await body(loop)
}

/// Runs `work` on the loop and gives its result.
func on<T: Sendable>(_ loop: EventLoop, _ work: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
        loop.execute { continuation.resume(returning: work()) }
    }
}

/// Returns in a later turn: work that is posted in this turn may still run in this turn.
func laterTurn(of loop: EventLoop) async {
    await withCheckedContinuation { continuation in
        loop.execute {
            var timer: LoopTimer?
            timer = LoopTimer(loop) {
                timer = nil
                continuation.resume()
            }
            timer?.set(after: 1)
        }
    }
}
