import EventLoops
import Expectations
import Glibc
import Testing

@testable import Workers

@Suite struct WorkersTests {
    @Test func `results come on the loop that asked, in the order of one thread, and never within the call`()
        async throws
    {
        let asker = try Asker()
        let pool = WorkerPool(name: "order", threads: 1, queue: 100)
        await asker.turn { asker in
            for number in 0..<100 { asker.ask(pool) { number } }
            expect(asker.heardSoFar.isEmpty)
        }
        await expect(asker.heard(100), equals: (0..<100).map { .result($0) })
        let numbers = pool.numbers
        expect(numbers.done == 100 && numbers.queued == 0 && numbers.running == 0)
        expect(numbers.waitingTimes.count == 100 && numbers.runningTimes.count == 100)
    }

    @Test func `as many jobs wait as may, one more is refused at once`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "bound", threads: 1, queue: 2)
        let gate = Gate()
        await asker.turn { asker in
            for number in 0..<4 { asker.ask(pool) { gate.pass(number) } }
            guard case .refused(.overloaded(let wait)) = asker.heardSoFar.first else {
                Issue.record("\(asker.heardSoFar)")
                return
            }
            expect((0.1...60).contains(wait))
        }
        gate.awaitJob()
        expect(pool.numbers.queued == 2 && pool.numbers.running == 1 && pool.numbers.refused == 1)
        for _ in 0..<3 { gate.open() }
        await expect(asker.heard(4).dropFirst(), equals: [.result(0), .result(1), .result(2)])
        // There is room again.
        await asker.turn { $0.ask(pool) { 4 } }
        await expect(asker.heard(5).last, equals: .result(4))
    }

    @Test func `a rejected job gets the expected time of the waiting ones`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "mean", threads: 1, queue: 99)
        let gate = Gate()
        await asker.turn { asker in asker.ask(pool) { Self.spin(milliseconds: 20) } }
        _ = await asker.heard(1)
        await asker.turn { asker in
            asker.ask(pool) { gate.pass(0) }
            for _ in 0..<100 { asker.ask(pool) { 0 } }
        }
        guard case .refused(.overloaded(let wait)) = asker.heardSoFar.last else {
            Issue.record("\(asker.heardSoFar.count)")
            return
        }
        expect(wait >= 2, "100 jobs of at least 20 ms each")
        gate.open()
        _ = await asker.heard(102)
    }

    @Test func `a job that would wait for too long is refused, though there is room`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "late", threads: 1, queue: 99, longestWait: 0.1)
        let gate = Gate()
        await asker.turn { asker in asker.ask(pool) { Self.spin(milliseconds: 40) } }
        _ = await asker.heard(1)
        await asker.turn { asker in
            // One runs, and behind it wait jobs with less than 0.1 s of waiting time.
            asker.ask(pool) { gate.pass(0) }
            for _ in 0..<10 { asker.ask(pool) { 0 } }
        }
        expect(pool.numbers.refused >= 8)
        guard case .refused(.overloaded(let wait)) = asker.heardSoFar.last else {
            Issue.record("\(asker.heardSoFar.count)")
            return
        }
        expect(wait > 0.1)
        gate.open()
        _ = await asker.heard(12)
    }

    private static func spin(milliseconds: Int64) -> Int {
        let end = MonotonicClock.microseconds + milliseconds * 1_000
        while MonotonicClock.microseconds < end {}
        return 0
    }

    @Test func `a slow pool does not hold up another`() async throws {
        let asker = try Asker()
        let slow = WorkerPool(name: "slow", threads: 1, queue: 10)
        let quick = WorkerPool(name: "quick", threads: 1, queue: 10)
        let gate = Gate()
        await asker.turn { asker in
            asker.ask(slow) { gate.pass(1) }
            asker.ask(quick) { 2 }
        }
        await expect(asker.heard(1), equals: [.result(2)])
        gate.open()
        await expect(asker.heard(2), equals: [.result(2), .result(1)])
    }

    @Test func `as many jobs run at a time as there are threads`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "three", threads: 3, queue: 10)
        let gate = Gate()
        await asker.turn { asker in for number in 0..<4 { asker.ask(pool) { gate.pass(number) } } }
        for _ in 0..<3 { gate.awaitJob() }
        expect(pool.numbers.running == 3 && pool.numbers.queued == 1)
        for _ in 0..<4 { gate.open() }
        expect(Set(await asker.heard(4).map { "\($0)" }).count, equals: 4)
    }

    @Test func `a pool of low priority runs with it, and leaves its asker's`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "low", threads: 1, queue: 1, hasLowPriority: true)
        await asker.turn { asker in asker.ask(pool) { Self.priority } }
        let own = await asker.turn { _ in Self.priority }
        await expect(asker.heard(1), equals: [.result(min(19, own + 5))])
        await expect(asker.turn { _ in Self.priority }, equals: own)
    }

    private static var priority: Int { Int(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)) }

    @Test func `many loops submit at once, some cancel their jobs, and each gets its own results`() async throws {
        let pool = WorkerPool(name: "many", threads: 3, queue: 50)
        let askers = try (0..<4).map { try Asker("asker-\($0)") }
        let jobs = 500
        let cancelled = await withTaskGroup(of: Int.self) { group in
            for (index, asker) in askers.enumerated() {
                group.addTask {
                    var cancelled = 0
                    for number in 0..<jobs {
                        // Once the pool is full, another job is submitted for each result.
                        let isCancelled = await asker.turn { asker in
                            let before = asker.heardSoFar.count
                            guard let job = asker.ask(pool, { index * jobs + number }), number % 7 == 0 else {
                                return false
                            }
                            job.cancel()
                            return before == asker.heardSoFar.count
                        }
                        cancelled += isCancelled ? 1 : 0
                    }
                    return cancelled
                }
            }
            return await group.reduce(0, +)
        }
        var results: Set<Int> = []
        var refused = 0
        let expected = 4 * jobs - cancelled
        for asker in askers {
            await asker.turn { asker in asker.ask(pool) { -1 } }
        }
        pool.stop(.drain)
        var heard = 0
        for (index, asker) in askers.enumerated() {
            let all = await asker.turn { $0.heardSoFar }
            heard += all.count
            for case .result(let value) in all where value >= 0 {
                expect(value / jobs == index && results.insert(value).inserted)
            }
            refused += all.count { if case .refused = $0 { true } else { false } }
        }
        expect(heard, equals: expected + 4)
        expect(pool.numbers.refused == refused && pool.numbers.queued == 0 && pool.numbers.running == 0)
    }
}
