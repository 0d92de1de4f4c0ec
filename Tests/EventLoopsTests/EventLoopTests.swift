import Dispatch
import EventLoops
import Expectations
import Glibc
import Testing

/// An actor that lives on a loop, as a shard does.
private actor Resident {
    let loop: EventLoop
    var heard: [Int] = []
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { self.loop = loop }

    func record(_ number: Int) -> Bool {
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

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test func `posted work runs in its order on the loop's thread`() async throws {
        try await running { loop in
            let order = Locked<[Int]>([])
            for number in 0..<10_000 {
                loop.execute { order.withLock { $0.append(loop.isCurrent ? number : -1) } }
            }
            await on(loop) {}
            expect(order.withLock { $0 }, equals: Array(0..<10_000))
        }
    }

    @Test func `work posted by many threads at once all runs`() async throws {
        try await running { loop in
            let count = Locked(0)
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                for _ in 0..<2_000 { loop.execute { count.withLock { $0 += 1 } } }
            }
            await on(loop) {}
            expect(count.withLock { $0 }, equals: 16_000)
        }
    }

    @Test func `an actor on the loop runs there, and comes back there after suspending`() async throws {
        try await running { loop in
            let resident = Resident(loop)
            for number in 0..<100 { await expect(resident.record(number)) }
            await expect(resident.heard, equals: Array(0..<100))
            await expect(resident.isHomeAfterSuspending())
        }
    }

    @Test func `code called by the loop may assume the actor's isolation`() async throws {
        try await running { loop in
            let resident = Resident(loop)
            let heard = await on(loop) { resident.assumeIsolated { $0.record(7) } }
            expect(heard)
            expect(!loop.isCurrent)
            expect(loop.isIsolatingCurrentContext(), equals: false)
        }
    }

    @Test func `a task started on the loop before it begins waits for it`() async throws {
        let loop = try EventLoop(name: "late")
        let resident = Resident(loop)
        let task = Task { await resident.record(1) }
        loop.start()
        await expect(task.value)
        loop.stop()
        loop.join()
    }

    @Test func `stop lets everything posted before it run, and join can be called twice`() throws {
        let loop = try EventLoop(name: "stop")
        let count = Locked(0)
        loop.start()
        for _ in 0..<1000 { loop.execute { count.withLock { $0 += 1 } } }
        loop.stop()
        loop.join()
        loop.join()
        expect(count.withLock { $0 }, equals: 1000)
    }

    @Test func `calls to an actor after its loop has ended are served too, one after the other`() async throws {
        let loop = try EventLoop(name: "late")
        let resident = Resident(loop)
        loop.start()
        loop.stop()
        loop.join()
        let home = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<500 { group.addTask { await resident.record(number) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        expect(home.count == 500 && home.allSatisfy { $0 })
        await expect(resident.heard.sorted(), equals: Array(0..<500))
        await expect(resident.isHomeAfterSuspending())
    }

    @Test func `a loop that never started can be dropped`() throws {
        weak var gone: EventLoop?
        do {
            let loop = try EventLoop(name: "unused")
            loop.join()
            gone = loop
        }
        expect(gone == nil)
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
        expect(gone == nil)
    }

    @Test func `signals are not delivered to the loop's thread`() async throws {
        try await running { loop in
            let blocked = await on(loop) {
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGSEGV) == 0
            }
            expect(blocked)
        }
    }
}
