import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

@Suite struct TokenBucketTests {
    private let limit = RateLimit(perSecond: 4, burst: 3)!

    @Test func `a full bucket gives its burst at once, and then its rate`() {
        var bucket = TokenBucket()
        var given: [Milliseconds] = []
        for now in Milliseconds(1_000)...3_000 {
            while bucket.wait(for: 1, at: now, limit) == nil {
                bucket.consume(1, at: now, limit)
                given.append(now)
            }
        }
        expect(given, equals: [1_000, 1_000, 1_000, 1_250, 1_500, 1_750, 2_000, 2_250, 2_500, 2_750, 3_000])
    }

    @Test func `a request after the announced wait succeeds, and not a ms earlier`() {
        for perSecond in [1, 3, 7, 100, 999, 1_001, 700_000] {
            let limit = RateLimit(perSecond: perSecond, burst: 5)!
            var bucket = TokenBucket()
            bucket.consume(5, at: 500, limit)
            for tokens in 1...5 {
                let wait = bucket.wait(for: tokens, at: 500, limit)!
                expect(bucket.wait(for: tokens, at: 500 + wait, limit), equals: nil)
                expect(wait == 1 || bucket.wait(for: tokens, at: 500 + wait - 1, limit) != nil)
            }
        }
    }

    @Test func `a price above the burst costs a full bucket`() {
        var bucket = TokenBucket()
        expect(bucket.wait(for: 1_000, at: 0, limit), equals: nil)
        bucket.consume(1_000, at: 0, limit)
        expect(bucket.wait(for: 1_000, at: 0, limit), equals: 750)
        expect(bucket.wait(for: 0, at: 0, limit), equals: nil)
    }

    @Test func `0 a second means no limit`() {
        expect(RateLimit(perSecond: 0, burst: 5), equals: nil)
        var rates = Rates<UserID>(nil)
        for _ in 0..<1_000 { rates.consume(1, by: UserID("ana")!, at: 0) }
        expect(rates.wait(for: 1, by: UserID("ana")!, at: 0), equals: nil)
        expect(rates.count, equals: 0)
    }

    @Test func `a user's bucket is dropped when it is full again, and not before`() {
        var rates = Rates<UserID>(limit)
        let ana = UserID("ana")!
        for now in Milliseconds(0)...20_000 {
            rates.expire(now: now)
            // Asks once per refill time, at moments that drift over the tables' rotations.
            if now % 797 == 0 {
                expect(rates.wait(for: 3, by: ana, at: now), equals: nil)
                rates.consume(3, by: ana, at: now)
            } else if now % 797 < 750 {
                expect(rates.wait(for: 3, by: ana, at: now), equals: 750 - now % 797)
            }
        }
        for now in Milliseconds(20_000)...22_000 { rates.expire(now: now) }
        expect(rates.count, equals: 0)
    }

    @Test func `refusals are counted in windows of 10 s`() {
        var refusals = RateRefusals()
        expect((0..<5).map { refusals.count(at: 4_294_960_000 + $0 * 100) }, equals: [1, 2, 3, 4, 5])
        // Above the ms that fit in 32 bits.
        expect(refusals.count(at: 4_294_969_999), equals: 6)
        expect(refusals.count(at: 4_294_970_000), equals: 1)
        expect(refusals.count(at: 4_294_990_000), equals: 1)
    }

    @Test func `a connection's rate takes 16 bytes`() {
        expect(MemoryLayout<TokenBucket>.stride + MemoryLayout<RateRefusals>.stride, equals: 16)
    }
}
