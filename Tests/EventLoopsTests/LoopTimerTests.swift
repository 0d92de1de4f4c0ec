import EventLoops
import Expectations
import Testing

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
                            expect(timer?.isSet, equals: false)
                            timer = nil
                            done.resume(returning: due - loop.now)
                        }
                        timer?.set(at: due)
                    }
                }
                expect(early <= 0)
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
            expect(order, equals: [10, 20, 30, 40])
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
            expect(fired, equals: ["again"])
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
        expect(!timer.isSet)
    }

    @Test func `a long turn shows in the lag, and is forgotten once asked for`() async throws {
        try await running { loop in
            await on(loop) {
                let until = loop.preciseNow + 100_000
                while loop.preciseNow < until {}
            }
            await laterTurn(of: loop)
            let lag = await on(loop) { loop.takeLag() }
            expect(lag.longestTurn >= 100_000)
            expect(lag.busy >= lag.longestTurn && lag.turns >= 1)
            await laterTurn(of: loop)
            let next = await on(loop) { loop.takeLag() }
            expect(next.longestTurn < lag.longestTurn)
        }
    }
}
