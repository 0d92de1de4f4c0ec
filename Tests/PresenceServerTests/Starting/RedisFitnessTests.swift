import Expectations
import Testing

@testable import PresenceCore

/// Checks of Redis' INFO.
@Suite struct RedisFitnessTests {
    @Test(
        arguments: [
            ("# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n", nil),
            ("redis_version:8.0.0\r\nmaxmemory_policy:noeviction\r\n", nil), ("redis_version:10.1\r\n", nil), ("", nil),
            ("redis_version:unstable\r\n", nil),
            ("redis_version:6.2.14\r\nmaxmemory_policy:noeviction\r\n", "version 6.2.14: 7.0 or later is needed"),
            ("redis_version:255.255.255\r\nmaxmemory_policy:allkeys-lfu\r\n", "maxmemory-policy allkeys-lfu"),
            ("xmaxmemory_policy:allkeys-lru\r\nmaxmemory_policy_text:x\r\n", nil),
        ] as [(String, String?)])
    func `an old Redis or one that evicts is rejected, and one without these fields accepted`(
        info: String, reason: String?
    ) {
        let found = ShardMembership.unfit(info)
        expect(found == nil, equals: reason == nil)
        if let reason { expect(found?.contains(reason), equals: true) }
    }
}
