import PresenceCore
import PresenceProtocol
import Redis

/// The command `presenced webhooks`: endpoints and their waiting events, on the Redis of running servers.
///
/// For one thread. It waits for Redis, so it is for a tool and never for a loop.
public struct WebhookConsole {
    private let place: ConsoleStore
    private let configuration: ServerConfiguration

    /// Entries that one step changes.
    private static let step = 500
    /// With more waiting entries, the oldest is not looked for.
    private static let mostListed = 1_000
    /// ms: an event whose next try is within them, and within half a ms more, may be under way.
    private static let lease: Timestamp = 30_000

    /// - Throws: ``ConsoleFailure`` if Redis cannot be reached, or no server has used it yet.
    public init(url: String, configuration: ServerConfiguration) throws(ConsoleFailure) {
        place = try ConsoleStore(url: url, configuration: configuration)
        self.configuration = configuration
    }

    /// An endpoint, as operators see it.
    public struct Endpoint: Encodable, Sendable {
        public let url: String
        public let events: [String]
        /// Waiting events.
        public let queued: Int64
        /// The time of the oldest waiting event, in ms since 1970; `nil` if very many wait.
        public let oldest: Int64?
        public let sent: Int64
        /// Tries.
        public let failed: Int64
        public let givenUp: Int64
        public let dropped: Int64
        public let lastFailure: String?
        public let lastFailureAt: Int64?
        /// The time of an answer 410.
        public let offSince: Int64?
    }

    /// Those of the configuration.
    public func list() throws -> [Endpoint] {
        try WebhookEndpoint.all(configuration).map { endpoint in
            let (redis, keys) = keys(of: endpoint.url)
            let names = ["sent", "failed", "givenUp", "dropped", "failure", "off"]
            let answers = try redis.runAtOnce([["HMGET", keys[0]] + names, ["ZCARD", keys[1]]])
            let queued = answers[1].int ?? 0
            // A list of a million ids would keep Redis from everything else.
            let ids = try queued > Self.mostListed ? [] : redis.run("HKEYS", keys[2]).array ?? []
            let texts = (answers[0].array ?? []).map(\.string)
            func number(_ place: Int) -> Int64 { texts.count > place ? texts[place].flatMap { Int64($0) } ?? 0 : 0 }
            // An id begins with the time: msg_1763712000000_00000_17.
            let oldest = ids.compactMap { id in
                id.string?.split(separator: "_").dropFirst().first.flatMap { Int64($0) }
            }.min()
            let failure = texts.count > 4 ? texts[4]?.split(separator: " ", maxSplits: 1).map(String.init) : nil
            return Endpoint(
                url: WebhookEndpoint.shown(endpoint.url), events: endpoint.events.sorted(), queued: queued,
                oldest: oldest, sent: number(0), failed: number(1), givenUp: number(2), dropped: number(3),
                lastFailure: failure?.last, lastFailureAt: failure?.first.flatMap { Int64($0) },
                offSince: texts.count > 5 ? texts[5].flatMap { Int64($0) } : nil)
        }
    }

    /// Has all waiting events tried now, and an endpoint called again that answered 410.
    ///
    /// - Returns: The number of events that are tried earlier.
    /// - Throws: ``ConsoleFailure`` if the configuration has no such endpoint.
    public func retry(_ url: String) throws -> Int {
        guard try isConfigured(url) else { throw try unknown(url) }
        let (redis, keys) = keys(of: url)
        _ = try redis.run("HDEL", keys[0], "off")
        // By the queue's own clock (queue-lib.lua).
        let ahead = try redis.run("HGET", keys[0], "ahead").string.flatMap { Int64($0) } ?? 0
        let now = try redis.now() + ahead
        var count = 0
        while true {
            let ids = try redis.run(
                "ZRANGEBYSCORE", keys[1], String(now + Self.lease + 1), "+inf", "LIMIT", "0", String(Self.step))
            let texts = (ids.array ?? []).compactMap(\.string)
            guard !texts.isEmpty else { return count }
            for answer in try redis.runAll(texts.map { ["ZADD", keys[1], "XX", String(now), $0] }) {
                _ = try answer.get()
            }
            count += texts.count
        }
    }

    /// Drops all waiting events.
    ///
    /// - Returns: Their number.
    /// - Throws: ``ConsoleFailure`` if the configuration has no such endpoint, and nothing is known of an earlier one.
    public func drop(_ url: String) throws -> Int64 {
        let (redis, keys) = keys(of: url)
        if try !isConfigured(url), try redis.run("EXISTS", keys[0]).int == 0 { throw try unknown(url) }
        let answers = try redis.runAll([
            ["MULTI"], ["ZCARD", keys[1]], ["DEL", keys[1], keys[2]], ["HSET", keys[0], "bytes", "0"], ["EXEC"],
        ])
        for case .failure(let failure) in answers { throw failure }
        guard case .success(.array(let results))? = answers.last else { throw ConsoleFailure("nothing was dropped") }
        let count = results.first?.int ?? 0
        if count > 0 { _ = try redis.run("HINCRBY", keys[0], "dropped", String(count)) }
        return count
    }

    private func isConfigured(_ url: String) throws -> Bool {
        try WebhookEndpoint.all(configuration).contains { $0.url == url }
    }

    private func unknown(_ url: String) throws -> ConsoleFailure {
        let known = try WebhookEndpoint.all(configuration).map { WebhookEndpoint.shown($0.url) }
        return ConsoleFailure(
            "there is no endpoint \(WebhookEndpoint.shown(url)): webhooks has "
                + (known.isEmpty ? "none" : known.joined(separator: ", ")))
    }

    private func keys(of url: String) -> (DoctorRedis, [String]) {
        let id = WebhookEndpoint.id(of: url)
        let keys = place.partitions.keys(of: id)
        return (place.store[keys.shards], keys.queue(id).map(\.value))
    }
}
