import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A shard's estimate of Redis' time: never slowed by a late answer, and never ahead for longer than a renewal.
@Suite struct ShardClockTests {
    private let clock = ShardClock(now: 1_000)
    /// Redis' clock is ahead by this many ms.
    private let ahead: Milliseconds = 500_000

    /// An answer to a command sent now, with these delays to Redis and back.
    private func ask(ahead: Milliseconds, there: Milliseconds = 1, back: Milliseconds = 1) {
        let sentAt = clock.now
        clock.advance(to: sentAt + there + back)
        clock.learn(redisTime: sentAt + there + ahead, sentAt: sentAt)
    }

    @Test func `a delayed answer does not slow the clock`() {
        ask(ahead: ahead)
        for wait in [400, 5, 900] as [Milliseconds] {
            ask(ahead: ahead, back: wait)
            expect(clock.redisNow, equals: clock.now + ahead - 1)
        }
        // Nor does an answer whose command has no known time.
        clock.learn(redisTime: clock.now + ahead - 700)
        expect(clock.redisNow, equals: clock.now + ahead - 1)
    }

    @Test func `a clock that jumps ahead is followed at once`() {
        ask(ahead: ahead)
        clock.learn(redisTime: clock.now + ahead + 60_000)
        expect(clock.redisNow, equals: clock.now + ahead + 60_000)
        ask(ahead: ahead + 120_000)
        expect(clock.redisNow, equals: clock.now + ahead + 120_000 - 1)
    }

    @Test func `a clock set back is followed at once, a small step back after eight answers`() {
        ask(ahead: ahead)
        ask(ahead: ahead - 3_600_000)
        expect(clock.redisNow, equals: clock.now + ahead - 3_600_000 - 1)
        // The cause might as well be slower answers.
        for _ in 0..<7 { ask(ahead: ahead - 3_600_050, there: 60) }
        expect(clock.redisNow, equals: clock.now + ahead - 3_600_000 - 1)
        ask(ahead: ahead - 3_600_050, there: 60)
        expect(clock.redisNow, equals: clock.now + ahead - 3_600_050 - 1)
    }

    @Test func `a shard with delayed answers knows the time`() throws {
        let world = try World(shards: 1)
        let shard = world.shards[0]
        try world.run(for: 20_000)
        let known = try #require(shard.logic.clock.redisOffset)
        for _ in 0..<5 {
            shard.holdReplies(.lease, for: 1_900)
            try world.run(for: 2_000)
            expect(abs(try #require(shard.logic.clock.redisOffset) - known) <= 3)
        }
        world.redisEpoch -= 60_000
        try world.run(for: 5_000)
        expect(abs(try #require(shard.logic.clock.redisOffset) - known + 60_000) <= 3)
    }
}
