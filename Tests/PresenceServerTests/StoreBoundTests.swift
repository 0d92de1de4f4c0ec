import EventLoops
import Expectations
import PresenceProtocol
import Redis
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Limits on commands and replies of Redis, at the limit and one past it.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StoreBoundTests {
    /// A store on a loop of its own.
    private actor Holder {
        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private let url: String
        private let mostBytes: Int
        private lazy var store = try! RedisLocation(url: url).store(
            loop: loop, options: RedisOptions(), partitions: Partitions(count: 4), replicas: 0,
            mostBytes: mostBytes,
            name: "test")

        init(_ url: String, mostBytes: Int) throws {
            (self.url, self.mostBytes) = (url, mostBytes)
            loop = try EventLoop(name: "store-test")
            loop.start()
        }

        func connect() async {
            await withCheckedContinuation { done in
                var isDone = false
                store.onChange = { change in
                    guard change == .up(.commands), !isDone else { return }
                    isDone = true
                    done.resume()
                }
                store.connect()
            }
        }

        /// Sends a command of this length, and returns the pending bytes and whether the store is full.
        func give(bytes: Int, _ answered: @escaping @Sendable () -> Void) -> (waiting: Int, isFull: Bool) {
            store.command(["ECHO", String(repeating: "x", count: bytes)], lane: .commands) { _ in answered() }
            return (store.pendingBytes, store.isFull)
        }

        var isFull: Bool { store.isFull }

        func end() {
            store.close()
            loop.stop()
        }
    }

    @Test func `the store is full at its limit, and not a byte below`() async throws {
        let redis = try RedisServer()
        // *2, $4 ECHO, $100 and 100 bytes, each with its line's end.
        let size = 4 + 4 + 6 + 6 + 102
        for (most, isFull) in [(size, true), (size + 1, false)] {
            let holder = try Holder(redis.url, mostBytes: most)
            await holder.connect()
            redis.pause()
            let answered = AsyncStream<Void>.makeStream()
            let state = await holder.give(bytes: 100) { answered.continuation.yield() }
            expect(state == (size, isFull))
            redis.resume()
            for await _ in answered.stream { break }
            await expect(!holder.isFull)
            await holder.end()
            holder.loop.join()
        }
    }

    @Test func `each shard has its part of the limit`() {
        var limits = ServerConfiguration.Limits()
        limits.redisBytes = 1_000
        expect(limits.redisBytes(of: 1) == 1_000 && limits.redisBytes(of: 3) == 333)
        expect(limits.redisBytes(of: 2_000), equals: 1)
        limits.redisBytes = 0
        expect(limits.redisBytes(of: 3), equals: .max)
    }

    @Test func `lists of the maximal length are read completely, in pieces`() throws {
        let world = try World(shards: 1)
        let user = UserID("ana")!
        let keys = world.shards[0].logic.partitions.keys(of: user)
        let half = VisibilityRequests.longestLists / 2
        for key in [keys.contacts(user), keys.blocks(user)] {
            for first in stride(from: 0, to: half, by: 10_000) {
                _ = world.redis.command(["SADD", key] + (first..<first + 10_000).map { "person-\($0)" })
            }
        }
        _ = world.redis.command(["HSET", keys.user(user), "visibility", "1 c e \(half) \(half)"])
        var answer: RedisValue?
        world.shards[0].input { $0.policies.read(user, all: true) { answer = try? $0.get() } }
        try world.run(until: "both lists are read") { answer != nil }
        let read = try #require(answer.flatMap { PolicyRead($0) })
        expect(read.contacts.count == half && read.blocks.count == half)
    }

    @Test func `lists that change during a read are read again in their new state`() throws {
        let world = try World(shards: 1)
        let user = UserID("ana")!
        let keys = world.shards[0].logic.partitions.keys(of: user)
        func hold(_ count: Int, version: Int) {
            _ = world.redis.command(["SADD", keys.blocks(user)] + (0..<count).map { "person-\($0)" })
            _ = world.redis.command(["HSET", keys.user(user), "visibility", "\(version) e e 0 \(count)"])
        }
        hold(5_000, version: 1)
        var answer: RedisValue?
        world.shards[0].input { $0.policies.read(user, all: true) { answer = try? $0.get() } }
        try world.run(for: 12)
        hold(5_500, version: 2)
        try world.run(until: "the list is read") { answer != nil }
        let read = try #require(answer.flatMap { PolicyRead($0) })
        expect(read.head.version == 2 && read.blocks.count == 5_500)
    }
}
