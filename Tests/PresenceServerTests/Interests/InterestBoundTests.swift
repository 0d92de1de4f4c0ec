import Expectations
import Glibc
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Limits on the interests that are kept without a watcher.
@Suite struct InterestBoundTests {
    /// This thread's processor time, in seconds.
    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func world() throws -> World { try World(shards: 1) { $0.redis.interests = true } }

    @Test func `unsubscribing keeps up with any rate of new interests`() throws {
        let world = try world()
        let shard = world.shards[0]
        let interests = try #require(shard.logic.interests)
        var number = 0
        for _ in 0..<160 {
            // A backend reads ten thousand unknown users a second, for eight seconds.
            shard.input { _ in
                for _ in 0..<500 {
                    number += 1
                    interests.want(UserID("u\(number)")!)
                    interests.release(UserID("u\(number)")!)
                }
            }
            try world.run(for: 50)
        }
        // Each is kept for a second, and for one more if Redis has not confirmed it by then.
        expect(interests.count < 25_000)
    }

    @Test func `each confirmation costs the same, however many wait`() throws {
        let world = try world()
        let interests = try #require(world.shards[0].logic.interests)
        let channels = (0..<20_000).map { "channel-\($0)" }
        var followed = 0
        for channel in channels {
            interests.want(channel, of: 0)
            interests.whenFollowed(channel) { if $0 { followed += 1 } }
        }
        let began = Self.processorTime
        for channel in channels { interests.confirm(channel) }
        expect(followed, equals: channels.count)
        // Quadratic time would be many times that.
        expect(Self.processorTime - began < 2)
    }

    @Test func `while Redis is away no unwatched interest is kept`() throws {
        let world = try world()
        let shard = world.shards[0]
        let watcher = try SimulatedClient("ana", in: world).connect(to: shard).watch("bob")
        let bob = Partitions(world.configuration, database: 0).keys(of: UserID("bob")!).events + "bob"
        world.redis.isGone = true
        shard.cutAll()
        for round in 0..<20 {
            // Requests of a backend that knows a thousand users.
            shard.input { logic in
                let people = (0..<1_000).map { logic.watchers.hold(person: UserID("u\(round)-\($0)")!) }
                logic.loader.load(people) { outcome in
                    expect(outcome, equals: .failed)
                    people.forEach(logic.watchers.release)
                }
            }
            try world.run(for: 500)
        }
        try world.run(for: 2_000)
        expect(shard.logic.interests?.count == 1 && Array(shard.subscription.followed.keys) == [bob])
        world.redis.isGone = false
        try world.run(until: "the shard is live") { shard.logic.link.isLive }
        try SimulatedClient("bob", in: world).connect(to: shard)
        try world.run(until: "bob is online") { watcher.status(of: "bob") == .online }
        try watcher.watch("u0-0")
    }

    @Test func `an unconfirmed interest is dropped once it is confirmed, and not before`() throws {
        let world = try world()
        let shard = world.shards[0]
        let interests = try #require(shard.logic.interests)
        shard.holdEvents(for: 2_000)
        shard.input { _ in
            interests.want(UserID("bob")!)
            interests.release(UserID("bob")!)
        }
        try world.run(for: 1_800)
        expect(interests.count == 1 && interests.left == 0)
        try world.run(for: 3_000)
        expect(interests.count == 0 && interests.left == 1 && shard.subscription.known.isEmpty)
    }
}
