import EventLoops
import PresenceProtocol

/// A shard's counters. Plain numbers, changed on the shard's thread; the metrics page adds up the shards.
package final class Metrics {
    var connectionsOpened = 0
    var messagesIn = 0
    var eventsIn = 0
    var eventsUnwatched = 0
    /// Marks set on watching connections: the deliveries without conflation.
    package var marked = 0
    /// Marks that were already set: deliveries that a slow or waiting connection does not need.
    var conflated = 0
    /// Requests to features for log entries that are no longer in memory.
    var catchUps = 0
    /// Events written to connections.
    var deliveries = 0
    /// Writes to sockets, each of one or many messages.
    package var writes = 0
    package var reaped = 0
    var staleCount = 0
    /// Updates that Redis rejected temporarily, and that were retried.
    package var storeRetries = 0
    var tokensRefused = 0
    /// How often a record in Redis was read that no server has written.
    var damagedRecords = 0
    var errors: [ErrorCode: Int] = [:]
    /// By close code; 0 stands for unknown codes, because a peer may send thousands of different ones.
    private(set) var closes: [UInt16: Int] = [:]
    /// How often each limit was met.
    private(set) var limitsMet: [Limit: Int] = [:]

    /// Events in one write.
    var batchSize = MetricHistogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
    /// From a change in Redis to the write of its event, in ms by Redis' clock as estimated by the shard.
    var changeToWrite = MetricHistogram(bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000])
    /// The round trip of a command to Redis, in µs.
    var redisRoundTrip = MetricHistogram(bounds: [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 500_000])
    /// The duration of a turn of the loop, in µs.
    var loopTurn = MetricHistogram(bounds: [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 1_000_000])

    package func met(_ limit: Limit) { limitsMet[limit, default: 0] += 1 }

    func countClose(_ code: UInt16) {
        let isKnown = (1000...1015).contains(code) || (4001...4006).contains(code)
        closes[isKnown ? code : 0, default: 0] += 1
    }
}
