import Expectations
import Redis
import TestSupport
import Testing

/// Channels that a subscriber follows in addition to its fixed ones.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct FollowingTests {
    let server: RedisServer

    init() throws { server = try RedisServer() }

    private static func name(_ number: Int) -> String { "{p001}:events:user-\(number)" }

    @Test
    func `tens of thousands of channels are followed, received by their index, left, and followed again after a break`()
        async throws
    {
        let admin = try server.admin()
        let count = 30_000
        try await Listener.with(server.unix, ["a", "b"]) { listener in
            await listener.subscribed()
            _ = await listener.wait { (subscriber, done: @escaping (Int) -> Void) in
                let told = subscriber.onFollowed
                var confirmed = 0
                subscriber.onFollowed = { _ in
                    confirmed += 1
                    guard confirmed == count else { return }
                    subscriber.onFollowed = told
                    done(confirmed)
                }
                for number in 0..<count { subscriber.follow(Self.name(number), index: number % 2) }
                expect(subscriber.followed, equals: count)
            }
            let isDone = await listener.onLoop { $0.underWay == 0 }
            expect(isDone)
            for number in [0, 1, count - 1] {
                try expect(admin.command("PUBLISH", .string(Self.name(number)), "x").int, equals: 1)
                await expect(listener.message(), equals: .init(channel: number % 2, payload: Array("x".utf8)))
            }
            await listener.onLoop { subscriber in
                for number in 0..<count where number != 7 { subscriber.leave(Self.name(number)) }
                subscriber.follow("last", index: 0)
            }
            await listener.follows("last")
            let left = try admin.command("PUBSUB", "CHANNELS", "*user*").array ?? []
            expect(left.count, equals: 1)

            server.kill()
            _ = await listener.lossReason()
            try server.start()
            await listener.subscribed()
            try expect(server.admin().command("PUBLISH", .string(Self.name(7)), "back").int, equals: 1)
            await expect(listener.message(), equals: .init(channel: 1, payload: Array("back".utf8)))
        }
    }

    @Test func `channels followed without a connection are confirmed before the subscription counts as made`()
        async throws
    {
        server.kill()
        try await Listener.with(server.unix, ["a"]) { listener in
            _ = await listener.lossReason()
            await listener.onLoop { subscriber in
                for number in 0..<3_000 { subscriber.follow(Self.name(number), index: 0) }
                subscriber.leave(Self.name(2_999))
            }
            try server.start()
            await listener.subscribed()
            let underWay = await listener.onLoop { $0.underWay }
            expect(underWay, equals: 0)
            let there = try server.admin().command("PUBSUB", "CHANNELS", "*user*").array ?? []
            expect(there.count, equals: 2_999)
        }
    }

    @Test func `channels followed and left without a connection are not kept`() async throws {
        server.kill()
        try await Listener.with(server.unix, ["a"]) { listener in
            _ = await listener.lossReason()
            await listener.onLoop { subscriber in
                for number in 0..<3_000 {
                    subscriber.follow(Self.name(number), index: 0)
                    subscriber.leave(Self.name(number))
                }
            }
            let kept = await listener.onLoop { $0.isSubscribing ? -1 : $0.underWay + $0.followed }
            expect(kept, equals: 0)
            try server.start()
            await listener.subscribed()
            await listener.onLoop { $0.follow("x", index: 0) }
            await listener.follows("x")
            let there = try server.admin().command("PUBSUB", "CHANNELS").array ?? []
            expect(there.count, equals: 2)
        }
    }

    @Test func `a channel that is left and followed at once delivers from its second confirmation on`() async throws {
        let admin = try server.admin()
        try await Listener.with(server.unix, ["a"]) { listener in
            await listener.subscribed()
            await listener.onLoop { $0.follow("x", index: 0) }
            await listener.follows("x")
            for _ in 0..<50 {
                await listener.onLoop { subscriber in
                    subscriber.leave("x")
                    subscriber.follow("x", index: 0)
                }
                await listener.follows("x")
                let receivers = try admin.command("PUBLISH", "x", "1").int
                expect(receivers, equals: 1)
                await expect(listener.message(), equals: .init(channel: 0, payload: Array("1".utf8)))
            }
        }
    }

    @Test func `a pattern delivers beside the channels, also after a break, until it is removed`() async throws {
        let admin = try server.admin()
        try await Listener.with(server.unix, ["p:events:"]) { listener in
            await listener.subscribed()
            await listener.onLoop { subscriber in
                subscriber.follow("p:events:bob", index: 0)
                subscriber.pattern = "p:events:?*"
            }
            await listener.follows("p:events:bob")
            try admin.command("PUBLISH", "p:events:bob", "1")
            await expect(listener.message().payload, equals: Array("1".utf8))
            await expect(listener.overhears(), equals: Array("1".utf8))
            await listener.onLoop { $0.reconnect(reason: "a test") }
            _ = await listener.lossReason()
            await listener.subscribed()
            await listener.onLoop { $0.follow("after", index: 0) }
            await listener.follows("after")
            try admin.command("PUBLISH", "p:events:", "nobody's")
            try admin.command("PUBLISH", "p:events:eve", "2")
            await expect(listener.overhears(), equals: Array("2".utf8))
            await listener.onLoop { subscriber in
                subscriber.pattern = nil
                subscriber.follow("then", index: 0)
            }
            await listener.follows("then")
            let receivers = try admin.command("PUBLISH", "p:events:eve", "3").int
            expect(receivers, equals: 0)
        }
    }

    @Test func `a Redis that confirms no channel in time is given up`() async throws {
        try await Listener.with(server.unix, ["a"], .with { $0.commandTimeout = 100 }) { listener in
            await listener.subscribed()
            server.pause()
            await listener.onLoop { $0.follow("x", index: 0) }
            await expect(listener.lossReason().hasSuffix("no channel was confirmed within 100 ms"))
            server.resume()
            await listener.subscribed()
            // Redis may still have the connection that was given up.
            while try server.admin().command("PUBLISH", "x", "1").int != 1 {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}
