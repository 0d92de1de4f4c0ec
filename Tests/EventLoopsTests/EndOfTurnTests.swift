import EventLoops
import Expectations
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EndOfTurnTests {
    @Test func `hooks run after the turn's work in the order of registration`() async throws {
        try await running { loop in
            let log = Locked<[String]>([])
            await on(loop) {
                loop.atEndOfTurn { log.withLock { $0.append("first") } }
                loop.atEndOfTurn { log.withLock { $0.append("second") } }
                log.withLock { $0.append("work") }
            }
            await on(loop) {}
            expect(log.withLock { Array($0.prefix(3)) }, equals: ["work", "first", "second"])
        }
    }

    @Test func `work that a hook posts runs, and the hooks once more, before the loop sleeps`() async throws {
        try await running { loop in
            let log = Locked<[String]>([])
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                loop.execute {
                    var calls = 0
                    var token: EndOfTurnHook?
                    token = loop.atEndOfTurn {
                        calls += 1
                        log.withLock { $0.append("hook") }
                        if calls == 1 { loop.execute { log.withLock { $0.append("posted") } } }
                        if calls == 2 {
                            token?.cancel()
                            done.resume()
                        }
                    }
                }
            }
            expect(log.withLock { $0 }, equals: ["hook", "posted", "hook"])
        }
    }

    @Test func `the steps of a task run on the loop, and before the hooks`() async throws {
        final class Log: Sendable {
            let lines = Locked<[String]>([])
            func add(_ line: String) { lines.withLock { $0.append(line) } }
        }
        try await running { loop in
            let log = Log()
            let executor = LoopTaskExecutor(loop)
            let task = await on(loop) {
                loop.atEndOfTurn { log.add("hook") }
                return Task(executorPreference: executor) {
                    for _ in 0..<3 {
                        await withUnsafeContinuation { continuation in loop.execute { continuation.resume() } }
                        log.add(loop.isCurrent ? "step" : "elsewhere")
                    }
                }
            }
            await task.value
            await laterTurn(of: loop)
            expect(log.lines.withLock { Array($0.prefix(4)) }, equals: ["step", "step", "step", "hook"])
        }
    }

    @Test func `a cancelled hook is not called again, even when an earlier one cancels it in the same turn`()
        async throws
    {
        try await running { loop in
            let calls = Locked(0)
            await on(loop) {
                var second: EndOfTurnHook?
                loop.atEndOfTurn { second?.cancel() }
                second = loop.atEndOfTurn { calls.withLock { $0 += 1 } }
            }
            await on(loop) {}
            expect(calls.withLock { $0 }, equals: 0)
        }
    }

    @Test func `a hook that posts for ever does not keep timers from firing`() async throws {
        try await running { loop in
            let fired = await withCheckedContinuation { (done: CheckedContinuation<Bool, Never>) in
                loop.execute {
                    let hook = loop.atEndOfTurn { loop.execute {} }
                    var timer: LoopTimer?
                    timer = LoopTimer(loop) {
                        hook.cancel()
                        timer = nil
                        done.resume(returning: true)
                    }
                    timer?.set(after: 5)
                }
            }
            expect(fired)
        }
    }
}
