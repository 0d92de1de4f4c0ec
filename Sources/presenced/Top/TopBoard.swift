/// The text of `presenced top`: whether all is well, and a line for each number. It does no I/O.
struct TopBoard {
    /// Seconds between two readings.
    static let interval = 1.0
    /// The most samples that are kept: a minute for the lines; quantiles need half of that.
    private static let most = 60
    private static let window = 30.0

    /// Counters that must not grow, each with its alert and the alert's seconds, as in `web/console/alerts.js`.
    static let counters: [(alert: String, metric: String, seconds: Double, text: String)] = [
        ("PresenceInternalErrors", #"errors_total{code="internal"}"#, 900, "a request met a fault of the server"),
        ("PresenceServerFull", #"closes_total{code="1013"}"#, 600, "clients are turned away"),
        ("PresenceDamagedRecords", "damaged_records_total", 3_600, "records in Redis cannot be read"),
        ("PresenceAnswersLate", "http_answers_late_total", 600, "calls had no answer in time"),
        ("PresenceWorkRefused", "workers_refused_total", 300, "threads have too much work"),
        ("PresenceMailsFail", "mails_failed_total", 900, "mails cannot be sent"),
        (
            "PresenceOriginsRefused", "origins_refused_total", 3_600,
            "a page was refused: allowedOrigins does not name it"
        ),
    ]

    enum State: Equatable {
        case well
        /// The seconds until the alert.
        case near(Double)
        case bad
    }

    private let rows: [TopRow]
    private var samples: [TopSample] = []
    private var values: [[Double?]]
    /// By alert: when its value exceeded its bound, and when its counter last grew.
    private var beyond: [String: Double] = [:]
    private var grown: [String: Double] = [:]
    private var mostLive = 0.0
    /// The reason why the last reading failed; `nil` if it succeeded.
    var failure: String?

    init(_ rows: [TopRow]) {
        self.rows = rows
        values = Array(repeating: [], count: rows.count)
    }

    mutating func add(_ metrics: MetricsText, at now: Double) {
        failure = nil
        let before = samples.last
        let earlier = samples.first { $0.at >= now - Self.window }
        let isLive = (metrics["live"] ?? 0) > 0
        let sample = TopSample(at: now, metrics: metrics)
        for (place, row) in rows.enumerated() {
            let value = row.isOfRedis && !isLive ? nil : row.read(sample, before, earlier)
            values[place] = (values[place] + [value]).suffix(Self.most)
            guard let alert = row.alert else { continue }
            // Without a value the state stays.
            if let value { beyond[alert.name] = value > alert.bound ? beyond[alert.name] ?? now : nil }
        }
        if let before {
            for counter in Self.counters {
                let (last, value) = (before.metrics[counter.metric] ?? 0, metrics[counter.metric] ?? 0)
                if value > last || value < last && value > 0 { grown[counter.alert] = now }
            }
        }
        mostLive = max(mostLive, metrics["live"] ?? 0)
        samples = (samples + [sample]).suffix(Self.most)
    }

    var version: String? { samples.last?.metrics.version }

    private var live: Double { samples.last?.metrics["live"] ?? 0 }
    private var now: Double { samples.last?.at ?? 0 }

    private func state(of alert: TopAlert) -> State {
        guard let since = beyond[alert.name] else { return .well }
        let left = alert.hold - (now - since)
        return left > 0 ? .near(left.rounded(.up)) : .bad
    }

    // MARK: Whether all is well

    /// The faults, each with the alert that operations.md explains.
    var faults: [(text: String, state: State)] {
        if let failure { return [("the numbers cannot be read: \(failure) (PresenceNoServer)", .bad)] }
        guard !samples.isEmpty else { return [] }
        guard live > 0 else { return [("no shard reaches Redis: clients see stale data (PresenceStale)", .bad)] }
        var faults: [(String, State)] = []
        if live < mostLive { faults.append(("some shards do not reach Redis (PresencePartlyStale)", .bad)) }
        for (place, row) in rows.enumerated() {
            guard let alert = row.alert, case let state = state(of: alert), state != .well else { continue }
            let value = values[place].last.flatMap(\.self).map(row.unit) ?? "–"
            faults.append(
                ("\(row.name.lowercased()) \(value), at most \(row.unit(alert.bound)) (\(alert.name))", state))
        }
        for counter in Self.counters where grown[counter.alert].map({ now - $0 < counter.seconds }) ?? false {
            faults.append(("\(counter.text) (\(counter.alert))", .bad))
        }
        return faults
    }

    var isWell: Bool { failure == nil && !samples.isEmpty && faults.isEmpty }

    // MARK: Lines

    /// - Parameters:
    ///   - facts: About all servers; empty if they are unknown.
    ///   - width: The terminal's; lines are cut there.
    func lines(_ facts: String, width: Int, isColoured: Bool) -> [String] {
        func styled(_ text: String, _ code: String) -> String {
            isColoured && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
        }
        func cut(_ text: String, _ width: Int) -> String {
            text.count <= width ? text : String(text.prefix(max(0, width - 1))) + "…"
        }
        var lines: [String] = []
        let faults = faults
        if isWell { lines.append(styled("All is well.", "1;32")) }
        if samples.isEmpty, failure == nil { lines.append("Reading…") }
        for (text, state) in faults {
            let begun = text.prefix(1).uppercased() + text.dropFirst()
            switch state {
            case .near(let left): lines.append(styled(cut("\(begun): an alert in \(Int(left)) s", width), "33"))
            default: lines.append(styled(cut("\(begun)", width), "1;31"))
            }
        }
        if !facts.isEmpty { lines.append(styled(cut(facts, width), "2")) }
        guard failure == nil, !samples.isEmpty else { return lines }
        lines.append("")
        let room = max(0, min(Self.most, width - 70))
        for (place, row) in rows.enumerated() {
            let value = values[place].last.flatMap(\.self).map(row.unit) ?? "–"
            let name = row.name.padding(to: 18), number = value.padded(to: 10)
            let spark = Self.spark(values[place].suffix(room), width: room)
            let (verdict, code) = verdict(of: row)
            let head = "\(name)\(number)  "
            let text = cut(head + styled(spark, isColoured ? "36" : "") + (room > 0 ? "  " : ""), .max)
            let left = max(0, width - head.count - room - (room > 0 ? 2 : 0))
            lines.append(text + styled(cut(verdict, left), code))
        }
        return lines
    }

    private func verdict(of row: TopRow) -> (String, code: String) {
        guard let alert = row.alert else { return ("", "") }
        let text = "at most \(row.unit(alert.bound))"
        return switch state(of: alert) {
        case .well: (text, "32")
        case .near(let left): ("\(text); alert in \(Int(left)) s", "33")
        case .bad: ("\(text): \(alert.name)", "1;31")
        }
    }

    private static let blocks = Array("▁▂▃▄▅▆▇█")

    /// The values as blocks, up to their largest; a gap for a missing value.
    static func spark(_ values: ArraySlice<Double?>, width: Int) -> String {
        let top = values.compactMap(\.self).max() ?? 0
        let text = values.map { value -> Character in
            guard let value else { return " " }
            return top > 0 ? blocks[min(7, Int(value / top * 7.999))] : blocks[0]
        }
        return String(repeating: " ", count: max(0, width - text.count)) + String(text)
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    fileprivate func padded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
