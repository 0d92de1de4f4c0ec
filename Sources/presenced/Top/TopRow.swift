import Foundation

/// A number of the overview, with its alert in config/prometheus/presence.rules.yaml.
struct TopRow: Sendable {
    let name: String
    let unit: @Sendable (Double) -> String
    /// The current value, computed from the newest sample, the sample before it, and the one of half a minute ago; `nil` if
    /// there is none.
    let read: @Sendable (_ now: TopSample, _ before: TopSample?, _ earlier: TopSample?) -> Double?
    var alert: TopAlert?
    /// Without a connection to Redis the last value is outdated, so none is shown.
    var isOfRedis = false
}

/// A bound, and for how long a value must be beyond it.
struct TopAlert: Sendable {
    let name: String
    let bound: Double
    /// In seconds.
    let hold: Double
}

extension TopAlert {
    /// Fewer shards reach Redis than before.
    static let partlyStale = TopAlert(name: "PresencePartlyStale", bound: 0, hold: 300)
}

/// The numbers of one reading; its time is in seconds on a monotonic clock.
struct TopSample: Sendable {
    let at: Double
    let metrics: MetricsText
}

extension TopRow {
    static let slow = TopAlert(name: "PresenceDeliveriesSlow", bound: 1, hold: 600)
    static let overloaded = TopAlert(name: "PresenceLoopOverloaded", bound: 0.1, hold: 600)
    static let redisSlow = TopAlert(name: "PresenceRedisSlow", bound: 1_000, hold: 120)
    static let untold = TopAlert(name: "PresenceSessionsUntold", bound: 0, hold: 60)
    static let outboxesShare = 0.8
    /// - Parameter bytes: The limit; 0 for none.
    static func outboxesFull(of bytes: Int) -> TopAlert? {
        bytes == 0 ? nil : TopAlert(name: "PresenceOutboxesFull", bound: outboxesShare * Double(bytes), hold: 300)
    }

    /// All alerts on values.
    static func alerts(outboxBytes: Int) -> [TopAlert] {
        (all(outboxBytes: outboxBytes) + unseen).compactMap(\.alert) + [.partlyStale]
    }

    /// - Parameter outboxBytes: `limits.outboxBytes` of the server.
    static func all(outboxBytes: Int) -> [TopRow] {
        [
            gauge("Connections", "connections"),
            gauge("Sessions", "sessions"),
            rate("Changes", "events_in_total"),
            rate("Deliveries", "deliveries_total"),
            quantile("Delay, 99 %", "change_to_write_seconds", 0.99, slow),
            quantile("Redis, 99 %", "redis_round_trip_seconds", 0.99, nil),
            quantile("Loop, 90 %", "loop_turn_seconds", 0.9, overloaded),
            gauge("Live shards", "live"),
            gauge("Commands waiting", "redis_commands_pending", redisSlow, isOfRedis: true),
            gauge("Slow clients", "outbox_bytes", outboxesFull(of: outboxBytes), unit: bytes),
            gauge("Not stored yet", "sessions_untold", untold, isOfRedis: true),
            rate("Errors", "errors_total"),
        ]
    }

    /// Values that are shown only while they are beyond their bounds.
    static let unseen = [
        unseen("the clocks of Redis and of this server differ", "PresenceRedisClock", 2, 300) {
            $0["redis_clock_offset_seconds"].map(abs)
        },
        unseen("an endpoint of webhooks is off", "PresenceWebhookOff", 0, 0) { $0["webhooks_off"] },
        unseen("changes over several partitions are not finished", "PresenceIntentsPending", 0, 600) {
            $0["intents_pending"]
        },
        unseen("clients wait for messages from Redis", "PresenceCatchUpsPending", 0, 600) {
            $0["log_catch_ups_pending"]
        },
        unseen("the disk is almost full: uploads are refused", "PresenceDiskLow", 0, 60) { metrics in
            guard let reserve = metrics["disk_reserve_bytes"], let free = metrics["disk_free_bytes"] else { return nil }
            return reserve - free
        },
        unseen("the certificate expires within 14 days", "PresenceCertificateExpires", 0, 0) { metrics in
            metrics["tls_certificate_expiry_timestamp_seconds"].map { end in
                Date().timeIntervalSince1970 + 14 * 86_400 - end
            }
        },
    ]

    private static func unseen(
        _ text: String, _ alert: String, _ bound: Double, _ hold: Double,
        read: @escaping @Sendable (MetricsText) -> Double?
    ) -> TopRow {
        TopRow(
            name: text, unit: whole, read: { now, _, _ in read(now.metrics) },
            alert: TopAlert(name: alert, bound: bound, hold: hold))
    }

    private static func gauge(
        _ name: String, _ metric: String, _ alert: TopAlert? = nil, isOfRedis: Bool = false,
        unit: @escaping @Sendable (Double) -> String = whole
    ) -> TopRow {
        TopRow(name: name, unit: unit, read: { now, _, _ in now.metrics[metric] }, alert: alert, isOfRedis: isOfRedis)
    }

    private static func rate(_ name: String, _ metric: String) -> TopRow {
        TopRow(
            name: name, unit: { "\($0 < 10 ? short($0) : whole($0))/s" },
            read: { now, before, _ in
                guard let before, now.at > before.at, let value = now.metrics[metric],
                    let earlier = before.metrics[metric]
                else { return nil }
                // If it is less than before, the server was restarted.
                return max(0, value - earlier) / (now.at - before.at)
            })
    }

    /// The bound below which a share of the values of the last half minute lies.
    private static func quantile(_ name: String, _ metric: String, _ share: Double, _ alert: TopAlert?) -> TopRow {
        TopRow(
            name: name, unit: { "\(short($0 * 1_000)) ms" },
            read: { now, _, earlier in
                guard let earlier else { return nil }
                let before = Dictionary(
                    earlier.metrics.buckets(of: metric).map { ($0.bound, $0.count) }, uniquingKeysWith: { $1 })
                let grown = now.metrics.buckets(of: metric).map { ($0.bound, $0.count - (before[$0.bound] ?? 0)) }
                guard let total = grown.last?.1, total > 0,
                    let found = grown.firstIndex(where: { $0.1 >= total * share })
                else { return nil }
                return grown[found].0.isFinite ? grown[found].0 : grown.dropLast().last?.0
            }, alert: alert, isOfRedis: metric != "loop_turn_seconds")
    }

    static let whole: @Sendable (Double) -> String = { value in
        let digits = Array(String(Int(value.rounded())))
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3), digits[place - 1] != "-" { text += "," }
            text.append(digit)
        }
        return text
    }

    /// Three digits.
    static let short: @Sendable (Double) -> String = { value in
        guard value < 100 else { return whole(value) }
        let factor = value < 1 ? 1_000.0 : value < 10 ? 100 : 10
        let text = String((value * factor).rounded() / factor)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    static let bytes: @Sendable (Double) -> String = { value in
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var (value, unit) = (value, 0)
        while value >= 1_024, unit < units.count - 1 { (value, unit) = (value / 1_024, unit + 1) }
        return "\(short(value)) \(units[unit])"
    }
}
