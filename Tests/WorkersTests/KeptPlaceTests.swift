import Expectations
import Testing

@testable import Workers

/// Places that are reserved for jobs still to come.
@Suite struct KeptPlaceTests {
    private let asker: Asker
    private let gate = Gate()

    init() throws { asker = try Asker() }

    private static func isRefused(_ pool: WorkerPool) -> Bool {
        do {
            try pool.reservePlace()
            return false
        } catch {
            guard case .overloaded = error else { return false }
            return true
        }
    }

    @Test func `a place that is kept counts among those that wait`() async throws {
        let pool = WorkerPool(name: "kept", threads: 1, queue: 2)
        let gate = gate
        for _ in 0..<2 { try pool.reservePlace() }
        await asker.turn { $0.ask(pool) { gate.pass(0) } }
        gate.awaitJob()
        expect(pool.numbers.queued == 2 && pool.numbers.running == 1)
        expect(Self.isRefused(pool) && pool.numbers.refused == 1)
        await asker.turn { $0.ask(pool) { 9 } }
        guard case .refused(.overloaded) = asker.heardSoFar.last else {
            Issue.record("\(asker.heardSoFar)")
            return
        }
        // The jobs of the reserved places are accepted, though the pool is full.
        await asker.turn { asker in for number in 1...2 { asker.ask(pool, inKeptPlace: true) { number } } }
        expect(pool.numbers.queued == 2 && pool.numbers.refused == 2)
        gate.open()
        await expect(asker.heard(4).dropFirst(), equals: [.result(0), .result(1), .result(2)])
    }

    @Test func `a place that is freed is another's`() async throws {
        let pool = WorkerPool(name: "freed", threads: 1, queue: 0)
        try pool.reservePlace()
        expect(Self.isRefused(pool))
        pool.releasePlace()
        try pool.reservePlace()
        await asker.turn { $0.ask(pool, inKeptPlace: true) { 1 } }
        await expect(asker.heard(1), equals: [.result(1)])
        expect(pool.numbers.queued, equals: 0)
    }

    @Test func `a pool that has been stopped takes no job, whatever was kept for it`() async throws {
        let pool = WorkerPool(name: "stopped", threads: 1, queue: 1)
        try pool.reservePlace()
        pool.stop(.drop)
        await asker.turn { $0.ask(pool, inKeptPlace: true) { 1 } }
        await expect(asker.heard(1), equals: [.refused(.stopped)])
        #expect(throws: WorkRefusal.stopped) { try pool.reservePlace() }
        expect(pool.numbers.queued, equals: 0)
    }
}
