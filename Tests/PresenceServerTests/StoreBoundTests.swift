import EventLoops
import PresenceProtocol
import Redis
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The bounds of what is sent to Redis and what it answers, at them and one past them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct StoreBoundTests {
    /// A store on a loop of its own.
    private actor Holder {
        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private let url: String
        private let mostBytes: Int
        private lazy var store = try! RedisLocation(url: url).store(
            loop: loop, options: RedisOptions(), partitions: Partitions(count: 4), scripts: [], replicas: 0,
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

        /// How many bytes wait, and whether that is too much, once a command of some length was given.
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

    @Test func `the store is full from so many bytes on, and no byte earlier`() async throws {
        let redis = try RedisServer()
        // *2, $4 ECHO, $100 and 100 bytes, each with its line's end.
        let size = 4 + 4 + 6 + 6 + 102
        for (most, isFull) in [(size, true), (size + 1, false)] {
            let holder = try Holder(redis.url, mostBytes: most)
            await holder.connect()
            redis.pause()
            let answered = AsyncStream<Void>.makeStream()
            let state = await holder.give(bytes: 100) { answered.continuation.yield() }
            #expect(state == (size, isFull))
            redis.resume()
            for await _ in answered.stream { break }
            #expect(await !holder.isFull)
            await holder.end()
            holder.loop.join()
        }
    }

    @Test func `a shard has its part of the limit`() {
        var limits = ServerConfiguration.Limits()
        limits.redisBytes = 1_000
        #expect(limits.redisBytes(of: 1) == 1_000 && limits.redisBytes(of: 3) == 333)
        #expect(limits.redisBytes(of: 2_000) == 1)
        limits.redisBytes = 0
        #expect(limits.redisBytes(of: 3) == .max)
    }

    @Test func `lists as long as they may be are answered whole`() throws {
        let server = try RedisServer()
        let redis = try BlockingRedis(server.unix, timeout: 120_000)
        let user = UserID("ana")!
        let keys = Partitions(count: 1).keys(of: user)
        let half = ServerConfiguration.longestLists / 2
        for key in [keys.contacts(user), keys.blocks(user)] {
            try redis.command(
                "EVAL",
                """
                for first = 1, ARGV[1], 5000 do
                    local ids = {}
                    for i = first, first + 4999 do ids[#ids + 1] = 'person-' .. i end
                    redis.call('SADD', KEYS[1], unpack(ids))
                end
                """, 1, .string(key), .init(half))
        }
        try redis.command("HSET", .string(keys.user(user)), "visibility", .string("1 c e \(half) \(half)"))
        let answer = try redis.run(
            Script.policy.redis, keys: [keys.user(user), keys.contacts(user), keys.blocks(user)].map { .string($0) },
            arguments: ["0", "1"])
        let read = try #require(PolicyRead(answer))
        #expect(read.contacts.count == half && read.blocks.count == half)
        #expect(try redis.command("PING").string == "PONG")
    }
}
