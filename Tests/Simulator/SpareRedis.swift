import EventLoops
import Redis
import TestSupport

/// A server that knows scripts. To start one and to load all scripts costs as much as most worlds do, so one that a world is
/// done with waits for the next.
struct SpareRedis {
    let server: RedisServer
    /// SHA-1s.
    private var known: Set<String> = []

    private static let waiting = Locked<[Held]>([])
    /// It moves from one thread to another, and is used by one at a time.
    private struct Held: @unchecked Sendable { let redis: SpareRedis }

    /// One that waits, emptied, or a new one.
    static func take() throws -> SpareRedis {
        guard let held = waiting.withLock({ $0.popLast() }) else { return try SpareRedis() }
        try BlockingRedis(held.redis.server.unix).command("FLUSHALL")
        return held.redis
    }

    /// Its connections are closed, and its settings are those it began with.
    func giveBack() {
        let held = Held(redis: self)
        Self.waiting.withLock { $0.append(held) }
    }

    private init() throws {
        // Small hashes keep the order of their fields, so that a history does not depend on the server's hash seed.
        server = try RedisServer(["--hash-max-listpack-value", "1024"])
    }

    mutating func load(_ scripts: [RedisScript], by connection: BlockingRedis) throws {
        for script in scripts where known.insert(script.sha1).inserted {
            try connection.command("SCRIPT", "LOAD", .string(script.source))
        }
    }
}
