import EventLoops
import Expectations
import Testing

@testable import Workers

/// Cancelled jobs, and pools that end.
@Suite struct CancellationTests {
    @Test func `a job that is cancelled while it waits is not run, and its place is free`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "waiting", threads: 1, queue: 1)
        let gate = Gate()
        let ran = Locked(false)
        await asker.turn { asker in
            asker.ask(pool) { gate.pass(0) }
            let job = asker.ask(pool) {
                ran.withLock { $0 = true }
                return 1
            }
            expect(job?.cancel() == true && job?.cancel() == false)
            asker.ask(pool) { 2 }
        }
        gate.open()
        await expect(asker.heard(2), equals: [.result(0), .result(2)])
        expect(!ran.withLock { $0 } && pool.numbers.cancelled == 1 && pool.numbers.done == 2)
    }

    @Test func `a cancelled running job delivers no result`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "running", threads: 1, queue: 1)
        let gate = Gate()
        await asker.turn { asker in
            let job = asker.ask(pool) { gate.pass(0) }
            gate.awaitJob()
            expect(job?.cancel(), equals: false)
            asker.ask(pool) { 1 }
        }
        gate.open()
        await expect(asker.heard(1), equals: [.result(1)])
        let numbers = pool.numbers
        expect(numbers.cancelled == 1 && numbers.done == 1 && numbers.runningTimes.count == 2)
    }

    @Test func `a job cancelled after its end but before its delivery delivers no result`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "done", threads: 1, queue: 2)
        let gate = Gate()
        await asker.turn { asker in
            let job = asker.ask(pool) { 0 }
            asker.ask(pool) { gate.pass(1) }
            // The next one runs, so this one's result is on its way.
            gate.awaitJob()
            job?.cancel()
        }
        gate.open()
        await expect(asker.heard(1), equals: [.result(1)])
        expect(pool.numbers.cancelled == 0 && pool.numbers.done == 2)
    }

    @Test func `the captures of a cancelled job are released on its loop`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "release", threads: 1, queue: 2)
        let gate = Gate()
        let isGone = await asker.turn { asker -> Bool in
            asker.ask(pool) { gate.pass(0) }
            var token: Token? = Token()
            weak let weakToken = token
            let job = try? pool.submit(on: asker.loop, { 1 }) { [token] _ in _ = token }
            token = nil
            let isHeld = weakToken != nil
            job?.cancel()
            return isHeld && weakToken == nil
        }
        gate.open()
        expect(isGone)
    }

    private final class Token {}

    @Test func `a drained pool runs its waiting jobs`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "drain", threads: 2, queue: 50)
        await asker.turn { asker in for number in 0..<50 { asker.ask(pool) { number } } }
        pool.stop(.drain)
        expect(pool.numbers.done, equals: 50)
        await expect(asker.heard(50).allSatisfy { if case .result = $0 { true } else { false } })
    }

    @Test func `a pool that drops its waiting jobs reports that, and waits for running ones`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "drop", threads: 1, queue: 5)
        let gate = Gate()
        await asker.turn { asker in for number in 0..<4 { asker.ask(pool) { gate.pass(number) } } }
        gate.awaitJob()
        async let stopped: Void = Self.onThread { pool.stop(.drop) }
        await expect(asker.heard(3), equals: Array(repeating: .refused(.stopped), count: 3))
        // The pool has not ended: its thread is in the job.
        expect(pool.numbers.running, equals: 1)
        gate.open()
        await stopped
        await expect(asker.heard(4).last, equals: .result(0))
        await asker.turn { $0.ask(pool) { 9 } }
        await expect(asker.heard(5).last, equals: .refused(.stopped))
        pool.stop(.drain)
    }

    @Test func `a pool that stops within a time abandons a hanging job, and notifies its submitter`() async throws {
        let asker = try Asker()
        let pool = WorkerPool(name: "hangs", threads: 2, queue: 5)
        let gate = Gate()
        await asker.turn { asker in for number in 0..<3 { asker.ask(pool) { gate.pass(number) } } }
        for _ in 0..<2 { gate.awaitJob() }
        expect(!pool.stop(.drain, within: 0.05))
        // Both that run, and the one that waits.
        await expect(asker.heard(3), equals: Array(repeating: .refused(.stopped), count: 3))
        for _ in 0..<2 { gate.open() }
        expect(pool.stop(.drop, within: 0))
        // The other pool's job follows any result of these.
        let other = WorkerPool(name: "other", threads: 1, queue: 1)
        await asker.turn { $0.ask(other) { 7 } }
        await expect(asker.heard(4).last, equals: .result(7))
    }

    @Test func `many jobs that wait are cancelled in any order for few steps each`() throws {
        let queue = WorkQueue(threads: 1, bound: 16_384)
        let numbers = try (0..<16_384).map { _ in
            try queue.add(WorkQueue.Work(run: { {} }, drop: {}))
        }
        for number in numbers.shuffled() { queue.cancel(number) }
        // A search visits 14 places, and tidying 2 for each cancelled one.
        expect(queue.steps < 20 * 16_384)
        expect(queue.numbers(of: "").queued == 0 && queue.numbers(of: "").cancelled == 16_384)
    }

    @Test func `a released pool ends`() async throws {
        let asker = try Asker()
        let gate = Gate()
        await asker.turn { asker in
            let pool = WorkerPool(name: "held", threads: 1, queue: 5)
            asker.ask(pool) { gate.pass(0) }
            for number in 1..<3 { asker.ask(pool) { number } }
            gate.awaitJob()
            gate.open()
        }
        // The waiting ones were dropped, unless they had begun.
        await expect(asker.heard(3).count, equals: 3)
    }

    /// A thread of its own for blocking work.
    static func onThread(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { done in
            QuietThread(name: nil) {
                work()
                done.resume()
            }.detach()
        }
    }
}
