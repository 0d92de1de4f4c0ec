import Dispatch
import EventLoops
import Glibc
import Synchronization
import Testing

/// An actor that lives on a loop, as a shard does.
private actor Resident {
    let loop: EventLoop
    var heard: [Int] = []
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { self.loop = loop }

    func hear(_ number: Int) -> Bool {
        heard.append(number)
        return loop.isCurrent
    }

    func isHomeAfterSuspending() async -> Bool {
        for _ in 0..<200 {
            guard loop.isCurrent else { return false }
            await Task.detached {}.value
        }
        return loop.isCurrent
    }
}

private func running(_ body: @Sendable (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop(name: "test")
    loop.start()
    defer {
        loop.stop()
        loop.join()
    }
    try await body(loop)
}

/// Runs `work` on the loop and gives its result.
private func on<T: Sendable>(_ loop: EventLoop, _ work: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
        loop.execute { continuation.resume(returning: work()) }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test func `posted work runs in its order on the loop's thread`() async throws {
        try await running { loop in
            let order = Mutex<[Int]>([])
            for number in 0..<10_000 {
                loop.execute { order.withLock { $0.append(loop.isCurrent ? number : -1) } }
            }
            await on(loop) {}
            #expect(order.withLock { $0 } == Array(0..<10_000))
        }
    }

    @Test func `work posted by many threads at once all runs`() async throws {
        try await running { loop in
            let count = Mutex(0)
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                for _ in 0..<2_000 { loop.execute { count.withLock { $0 += 1 } } }
            }
            await on(loop) {}
            #expect(count.withLock { $0 } == 16_000)
        }
    }

    @Test func `an actor on the loop runs there, and comes back there after suspending`() async throws {
        try await running { loop in
            let resident = Resident(loop)
            for number in 0..<100 { #expect(await resident.hear(number)) }
            #expect(await resident.heard == Array(0..<100))
            #expect(await resident.isHomeAfterSuspending())
        }
    }

    @Test func `code called by the loop may assume the actor's isolation`() async throws {
        try await running { loop in
            let resident = Resident(loop)
            let heard = await on(loop) { resident.assumeIsolated { $0.hear(7) } }
            #expect(heard)
            #expect(!loop.isCurrent)
            #expect(loop.isIsolatingCurrentContext() == false)
        }
    }

    @Test func `a task started on the loop before it begins waits for it`() async throws {
        let loop = try EventLoop(name: "late")
        let resident = Resident(loop)
        let task = Task { await resident.hear(1) }
        loop.start()
        #expect(await task.value)
        loop.stop()
        loop.join()
    }

    @Test func `stop lets everything posted before it run, and join can be called twice`() throws {
        let loop = try EventLoop(name: "stop")
        let count = Mutex(0)
        loop.start()
        for _ in 0..<1000 { loop.execute { count.withLock { $0 += 1 } } }
        loop.stop()
        loop.join()
        loop.join()
        #expect(count.withLock { $0 } == 1000)
    }

    @Test func `a loop that never started can be dropped`() throws {
        weak var gone: EventLoop?
        do {
            let loop = try EventLoop(name: "unused")
            loop.join()
            gone = loop
        }
        #expect(gone == nil)
    }

    @Test func `a loop is freed after its thread ended`() throws {
        weak var gone: EventLoop?
        do {
            let loop = try EventLoop(name: "freed")
            loop.start()
            loop.stop()
            loop.join()
            gone = loop
        }
        #expect(gone == nil)
    }

    @Test func `signals are not delivered to the loop's thread`() async throws {
        try await running { loop in
            let blocked = await on(loop) {
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGSEGV) == 0
            }
            #expect(blocked)
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct EndOfTurnTests {
    @Test func `hooks run after the turn's work in the order of registration`() async throws {
        try await running { loop in
            let log = Mutex<[String]>([])
            await on(loop) {
                loop.atEndOfTurn { log.withLock { $0.append("first") } }
                loop.atEndOfTurn { log.withLock { $0.append("second") } }
                log.withLock { $0.append("work") }
            }
            await on(loop) {}
            #expect(log.withLock { Array($0.prefix(3)) } == ["work", "first", "second"])
        }
    }

    @Test func `work that a hook posts runs, and the hooks once more, before the loop sleeps`() async throws {
        try await running { loop in
            let log = Mutex<[String]>([])
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
            #expect(log.withLock { $0 } == ["hook", "posted", "hook"])
        }
    }

    @Test func `a cancelled hook is not called again, even when an earlier one cancels it in the same turn`()
        async throws
    {
        try await running { loop in
            let calls = Mutex(0)
            await on(loop) {
                var second: EndOfTurnHook?
                loop.atEndOfTurn { second?.cancel() }
                second = loop.atEndOfTurn { calls.withLock { $0 += 1 } }
            }
            await on(loop) {}
            #expect(calls.withLock { $0 } == 0)
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
            #expect(fired)
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct LoopTimerTests {
    @Test func `a timer fires once, on the loop, not before its time`() async throws {
        try await running { loop in
            for delay in [Int64(0), 1, 3, 20] {
                let early = await withCheckedContinuation { (done: CheckedContinuation<Int64, Never>) in
                    loop.execute {
                        let due = loop.now + delay
                        var timer: LoopTimer?
                        timer = LoopTimer(loop) {
                            loop.checkIsolated()
                            #expect(timer?.isSet == false)
                            timer = nil
                            done.resume(returning: due - loop.now)
                        }
                        timer?.set(at: due)
                    }
                }
                #expect(early <= 0)
            }
        }
    }

    @Test func `timers fire in the order of their times, whatever the order of setting`() async throws {
        try await running { loop in
            let order = await withCheckedContinuation { (done: CheckedContinuation<[Int], Never>) in
                loop.execute {
                    var order: [Int] = []
                    var timers: [LoopTimer] = []
                    for delay in [30, 10, 20, 40] {
                        let timer = LoopTimer(loop) {
                            order.append(delay)
                            if order.count == 4 {
                                timers = []
                                done.resume(returning: order)
                            }
                        }
                        timer.set(after: Int64(delay))
                        timers.append(timer)
                    }
                }
            }
            #expect(order == [10, 20, 30, 40])
        }
    }

    @Test func `a timer set again fires only at the new time; a cancelled or dropped one never`() async throws {
        try await running { loop in
            let fired = await withCheckedContinuation { (done: CheckedContinuation<[String], Never>) in
                loop.execute {
                    var fired: [String] = []
                    let again = LoopTimer(loop) { fired.append("again") }
                    again.set(after: 1)
                    again.set(after: 10)
                    let cancelled = LoopTimer(loop) { fired.append("cancelled") }
                    cancelled.set(after: 2)
                    cancelled.cancel()
                    do { LoopTimer(loop) { fired.append("dropped") }.set(after: 3) }
                    var last: LoopTimer?
                    last = LoopTimer(loop) {
                        withExtendedLifetime((again, cancelled)) { last = nil }
                        done.resume(returning: fired)
                    }
                    last?.set(after: 25)
                }
            }
            #expect(fired == ["again"])
        }
    }

    @Test func `a timer set before the loop starts fires`() async throws {
        let loop = try EventLoop(name: "early")
        let (fired, firing) = AsyncStream<Void>.makeStream()
        let timer = LoopTimer(loop) { firing.finish() }
        timer.set(after: 5)
        loop.start()
        for await _ in fired {}
        loop.stop()
        loop.join()
        #expect(!timer.isSet)
    }

    @Test func `a long turn shows in the lag, and is forgotten once asked for`() async throws {
        try await running { loop in
            await on(loop) {
                let until = loop.preciseNow + 20_000
                while loop.preciseNow < until {}
            }
            let lag = await on(loop) { loop.takeLag() }
            #expect(lag.longestTurn >= 20_000)
            #expect(lag.busy >= lag.longestTurn && lag.turns >= 1)
            let next = await on(loop) { loop.takeLag() }
            #expect(next.longestTurn < 20_000)
        }
    }
}
