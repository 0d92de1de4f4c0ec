import EventLoops
import Redis
import TestSupport

/// A server that has loaded scripts. Starting one and loading all scripts costs as much as most worlds do, so the next
/// world reuses the server of an earlier one.
struct SpareRedis {
    let server: RedisServer
    /// The SHA-1s of its scripts: those of all worlds that used it.
    private var known: Set<String> = []

    private static let waiting = Locked<[Held]>([])
    /// It moves from one thread to another, and one thread at a time uses it.
    private struct Held: @unchecked Sendable { let redis: SpareRedis }

    /// Returns a waiting server, or a new one.
    static func take(knowing scripts: [RedisScript]) throws -> SpareRedis {
        var redis = try waiting.withLock { $0.popLast() }?.redis ?? SpareRedis()
        let connection = try BlockingRedis(redis.server.unix)
        for script in scripts where !redis.known.contains(script.sha1) {
            try connection.command("SCRIPT", "LOAD", .string(script.source))
            redis.known.insert(script.sha1)
        }
        return redis
    }

    /// Returns it for the next world, which empties it. It has its original settings, and answers.
    func giveBack() {
        let held = Held(redis: self)
        Self.waiting.withLock { $0.append(held) }
    }

    private init() throws {
        // Small hashes keep the order of their fields, so that a history does not depend on the server's hash seed.
        server = try RedisServer(["--hash-max-listpack-value", "1024"])
    }
}
