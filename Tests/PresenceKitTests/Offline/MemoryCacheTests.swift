import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

@Suite struct MemoryCacheTests {
    private static func person(_ number: Int, version: Int64 = 1) -> CachedPerson {
        CachedPerson(
            user: UserID("u\(number)")!, asOf: Date(timestamp: 1), presence: Presence(version: version, status: .away),
            profile: .none)
    }

    @Test func `it returns the newest value of each user, and can be cleared`() async throws {
        let cache = PresenceCache()
        await cache.write([Self.person(1), Self.person(2)])
        await cache.write([Self.person(1, version: 2)])
        await expect(cache.read(["u1", "u3"]), equals: [Self.person(1, version: 2)])
        try await cache.removeAll()
        await expect(cache.read(["u1", "u2"]).isEmpty)
    }

    @Test func `a full cache evicts the least recently updated users`() async {
        let cache = PresenceCache(capacity: 8)
        await cache.write((1...8).map { Self.person($0) })
        await expect(cache.read((1...8).map { "u\($0)" }).count, equals: 8)
        await cache.write([Self.person(1), Self.person(9)])
        let left = await cache.read((1...9).map { "u\($0)" }).map(\.user)
        expect(left.count <= 8)
        expect(left.contains("u1"))
        expect(left.contains("u9"))
        expect(!left.contains("u2"))
    }
}
