import EventLoops
import Installation
import Workers

/// One shard's metrics at a moment, to be added up over the process and written as Prometheus text.
package struct MetricsSnapshot: Sendable {
    var counters: [Counter: Int] = [:]
    var gauges: [Gauge: Int] = [:]
    var errors: [String: Int] = [:]
    var closes: [UInt16: Int] = [:]
    var limitsMet: [Limit: Int] = [:]
    var histograms: [Histogram: MetricHistogram] = [:]
    /// The features' metrics, in the order of registration.
    package var features: [Feature] = []
    /// Numbers of the whole process, set once, when the shards have been added up.
    var workers: [WorkerNumbers] = []
    /// When the certificate expires, in seconds since 1970; `nil` without TLS.
    var certificateExpiry: Int64?
    /// How far Redis' clock is ahead of this host's, in ms; `nil` before the first reply of Redis.
    var redisClockOffset: Int64?

    /// A feature's metric.
    package struct Feature: Sendable {
        package let name: String
        package let type: String
        let help: String
        package var value: Int
    }

    enum Counter: String, CaseIterable, CoreMetric {
        case connectionsOpened = "connections_opened_total: WebSocket connections accepted"
        case messagesIn = "messages_received_total: messages from clients"
        case eventsIn = "events_in_total: events from Redis"
        case eventsUnwatched =
            "events_unwatched_total: of these, about a user or conversation without a watcher on the shard"
        case eventsOut = "deliveries_marked_total: changes marked for delivery, counted for each watching connection"
        case deliveries = "deliveries_total: events written to connections"
        case conflated = "deliveries_conflated_total: changes replaced by a newer one before they were written"
        case writes = "socket_writes_total: writes to sockets, of one or many messages"
        case partialWrites = "socket_writes_partial_total: of these, only partly accepted by the kernel"
        case bytesOut = "socket_bytes_written_total: bytes written to sockets"
        case reaped = "users_reaped_total: users whose sessions were ended because their server had died"
        case stale = "stale_total: times that a shard became stale"
        case storeRetries = "store_retries_total: updates that Redis rejected and the server retried"
        case handshakeTimeouts =
            "handshakes_timed_out_total: connections closed because their first request took too long"
        case handshakesDisplaced =
            "handshakes_displaced_total: connections without a WebSocket closed early to make room for others"
        case lateAnswers = "http_answers_late_total: calls answered with 503 because they took too long"
        case slowTransfers =
            "http_transfers_too_slow_total: uploads and downloads aborted because their clients were too slow"
        case tlsHandshakes = "tls_handshakes_total: TLS connections that completed the handshake and sent a request"
        case tlsFailures = "tls_failures_total: connections to a TLS port that failed before a request"
        case originsRefused = "origins_refused_total: upgrades refused because the browser's page had another origin"
        case tokensRefused = "tokens_refused_total: tokens of connections and calls that were verified and refused"
        case damagedRecords = "damaged_records_total: reads of records that no server has written"
        case catchUps =
            "log_catch_ups_total: reads of log entries that were no longer in memory, each a page for one connection"
        case intentSteps = "intent_steps_total: executed steps of changes that span partitions"
        case intentsResumed = "intents_resumed_total: such changes resumed because their server may have died"
        case intentFailures =
            "intent_failures_total: such changes, or parts of them, that failed and were left to the next sweep"
    }

    enum Gauge: String, CaseIterable, CoreMetric {
        case connections = "connections: open WebSocket connections"
        case sessions = "sessions: sessions, lingering ones included"
        case subscriptions = "subscriptions: people and conversations watched, over all connections"
        case topics = "topics: different people and conversations watched"
        case sessionsLingering = "sessions_lingering: sessions without a connection that have not ended"
        case sessionsUntold = "sessions_untold: sessions whose current state or end Redis has not stored yet"
        case live = "live: shards that are live"
        case redisPending = "redis_commands_pending: commands without a reply from Redis"
        case redisPendingBytes = "redis_commands_pending_bytes: bytes of these commands"
        case interests = "interests: subscribed channels of users and conversations (redis.interests)"
        case interestsPending =
            "interests_pending: such channels whose subscription or unsubscription Redis has not confirmed yet"
        case outboxBytes = "outbox_bytes: pending bytes for connections that do not accept them"
        case inboxBytes = "inbox_bytes: bytes of incomplete requests and messages"
        case handshakes = "handshakes: connections without a WebSocket: handshakes in progress, and HTTP"
        case uploads = "http_uploads: uploads in progress"
        case downloads = "http_downloads: files of more than 64 KiB that are being sent"
        case diskFree = "disk_free_bytes: bytes free on the disk of the data directory"
        case diskReserve = "disk_reserve_bytes: bytes of these that are reserved; with fewer all uploads are refused"
        case logEntries = "log_entries: log entries in memory"
        case logBytes = "log_bytes: bytes of these entries"
        case catchUpsPending = "log_catch_ups_pending: connections that wait for log entries no longer in memory"
        case intentsPending =
            "intents_pending: unfinished changes that span partitions, of all servers, at the last sweep"
        case longAnswersWaiting =
            "long_answers_waiting: requests for lists and pages that wait for an earlier one of their user"
        case intentsWaiting = "intents_waiting: changes that span many partitions and wait to continue"
    }

    enum Histogram: String, CaseIterable, CoreMetric {
        case batchSize = "batch_events: events in one flush of a connection"
        case changeToWrite =
            "change_to_write_seconds: from a change in Redis to the write of its event, by Redis' clock"
        case redisRoundTrip = "redis_round_trip_seconds: from the write of a command to its reply"
        case loopTurn = "loop_turn_seconds: the longest turn of the loop between two samples, at most 250 ms apart"

        /// Durations in ms or µs are reported in seconds, Prometheus' unit of time: the number of fractional digits that this
        /// takes.
        var places: Int {
            self == .batchSize ? 0 : self == .changeToWrite ? 3 : 6
        }
    }

    package mutating func add(_ other: MetricsSnapshot) {
        counters.merge(other.counters, uniquingKeysWith: +)
        // Each shard counts the intents of all servers.
        let intents = max(gauges[.intentsPending] ?? 0, other.gauges[.intentsPending] ?? 0)
        gauges.merge(other.gauges, uniquingKeysWith: +)
        gauges[.intentsPending] = intents
        errors.merge(other.errors, uniquingKeysWith: +)
        closes.merge(other.closes, uniquingKeysWith: +)
        limitsMet.merge(other.limitsMet, uniquingKeysWith: +)
        certificateExpiry = certificateExpiry ?? other.certificateExpiry
        // The shards differ by their round trips: the largest value is reported.
        if abs(other.redisClockOffset ?? 0) >= abs(redisClockOffset ?? 0) {
            redisClockOffset = other.redisClockOffset ?? redisClockOffset
        }
        for metric in other.features {
            if let index = features.firstIndex(where: { $0.name == metric.name }) {
                features[index].value += metric.value
            } else {
                features.append(metric)
            }
        }
        histograms.merge(other.histograms) { mine, theirs in
            var sum = mine
            sum.add(theirs)
            return sum
        }
    }

    /// Whether the page has, or may have, a metric of this name without any feature.
    package static func isCore(_ name: String) -> Bool {
        names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }

    private static let names = Set(
        Counter.allCases.map(\.name) + Gauge.allCases.map(\.name) + [
            "errors_total", "closes_total", "limit_met_total", "build_info", "redis_clock_offset_seconds",
            "tls_certificate_expiry_timestamp_seconds",
        ])
    private static let prefixes = Histogram.allCases.map(\.name) + ["workers_"]

    /// The text format of Prometheus, version 0.0.4.
    var page: String {
        var lines: [String] = []
        func head(_ name: String, _ type: String, _ help: String) {
            lines.append("# HELP presence_\(name) \(help)")
            lines.append("# TYPE presence_\(name) \(type)")
        }
        for gauge in Gauge.allCases {
            head(gauge.name, "gauge", gauge.help)
            lines.append("presence_\(gauge.name) \(gauges[gauge] ?? 0)")
        }
        for counter in Counter.allCases {
            head(counter.name, "counter", counter.help)
            lines.append("presence_\(counter.name) \(counters[counter] ?? 0)")
        }
        for metric in features {
            head(metric.name, metric.type, metric.help)
            lines.append("presence_\(metric.name) \(metric.value)")
        }
        if let certificateExpiry {
            head(
                "tls_certificate_expiry_timestamp_seconds", "gauge",
                "when the certificate expires, in seconds since 1970")
            lines.append("presence_tls_certificate_expiry_timestamp_seconds \(certificateExpiry)")
        }
        if let redisClockOffset {
            head(
                "redis_clock_offset_seconds", "gauge",
                "how far Redis' clock, by which tokens are checked, is ahead of this host's; negative if it is behind")
            lines.append("presence_redis_clock_offset_seconds \(Self.decimal(redisClockOffset, 3))")
        }
        head("errors_total", "counter", "errors sent to clients")
        for (code, count) in errors.sorted(by: { $0.key < $1.key }) {
            lines.append("presence_errors_total{code=\"\(code)\"} \(count)")
        }
        head("closes_total", "counter", "connections closed, by close code (1006: lost without one)")
        for (code, count) in closes.sorted(by: { $0.key < $1.key }) {
            lines.append("presence_closes_total{code=\"\(code == 0 ? "other" : String(code))\"} \(count)")
        }
        head("limit_met_total", "counter", "times that a limit was met")
        for limit in Limit.allCases {
            lines.append("presence_limit_met_total{limit=\"\(limit.rawValue)\"} \(limitsMet[limit] ?? 0)")
        }
        for histogram in Histogram.allCases {
            guard let values = histograms[histogram] else { continue }
            head(histogram.name, "histogram", histogram.help)
            var total = 0
            for (bound, count) in zip(values.bounds, values.counts) {
                total += count
                let edge = Self.decimal(bound, histogram.places)
                lines.append("presence_\(histogram.name)_bucket{le=\"\(edge)\"} \(total)")
            }
            lines.append("presence_\(histogram.name)_bucket{le=\"+Inf\"} \(values.count)")
            lines.append("presence_\(histogram.name)_sum \(Self.decimal(values.sum, histogram.places))")
            lines.append("presence_\(histogram.name)_count \(values.count)")
        }
        lines += workerLines
        head("build_info", "gauge", "1; the label is the server's version")
        lines.append("presence_build_info{version=\"\(ServerVersion.current)\"} 1")
        return lines.joined(separator: "\n") + "\n"
    }
}

/// A metric of the core: "NAME: HELP".
protocol CoreMetric: RawRepresentable<String> {}

extension CoreMetric {
    var name: String { String(rawValue.prefix { $0 != ":" }) }
    var help: String { String(rawValue.dropFirst(name.count + 2)) }
}

extension ShardLogic {
    /// The logic's own metrics; the shard adds those of its sockets and its loop.
    package var snapshot: MetricsSnapshot {
        var snapshot = MetricsSnapshot()
        snapshot.counters = [
            .connectionsOpened: metrics.connectionsOpened, .messagesIn: metrics.messagesIn,
            .eventsIn: metrics.eventsIn, .eventsUnwatched: metrics.eventsUnwatched, .eventsOut: metrics.marked,
            .deliveries: metrics.deliveries, .conflated: metrics.conflated, .reaped: metrics.reaped,
            .stale: metrics.staleCount, .storeRetries: metrics.storeRetries, .tokensRefused: metrics.tokensRefused,
            .damagedRecords: metrics.damagedRecords, .catchUps: metrics.catchUps, .intentSteps: intents.steps,
            .intentsResumed: intents.resumed, .intentFailures: intents.failures,
        ]
        snapshot.gauges = [
            .connections: watchers.connections.count { $0 != nil }, .sessions: sessions.count,
            .sessionsLingering: sessions.lingering, .sessionsUntold: sessions.untold,
            .subscriptions: watchers.subscriptionCount,
            .topics: watchers.topics.count { $0 != nil }, .live: link.isLive ? 1 : 0,
            .outboxBytes: outboxes.held, .logEntries: watchers.logs.entries, .logBytes: watchers.logs.bytes,
            .catchUpsPending: catchUps.count, .intentsPending: intents.pending,
            .longAnswersWaiting: longAnswers.waitingCount,
            .intentsWaiting: intents.waiting,
        ]
        snapshot.errors = Dictionary(uniqueKeysWithValues: metrics.errors.map { ($0.key.rawValue, $0.value) })
        snapshot.features = registry.metrics.map {
            .init(name: $0.name, type: $0.type, help: $0.help, value: $0.read())
        }
        snapshot.closes = metrics.closes
        snapshot.limitsMet = metrics.limitsMet
        snapshot.histograms = [
            .batchSize: metrics.batchSize, .changeToWrite: metrics.changeToWrite,
            .redisRoundTrip: metrics.redisRoundTrip, .loopTurn: metrics.loopTurn,
        ]
        return snapshot
    }
}
