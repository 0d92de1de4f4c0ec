/// The text of `presenced top`: whether all is well, and a line for each number. It does no I/O.
struct TopBoard {
    /// Seconds between two readings.
    static let interval = 1.0
    /// The most samples that are kept: a minute for the lines; quantiles need half of that.
    private static let most = 60
    private static let window = 30.0

    enum State: Equatable {
        case well
        /// The seconds until the alert.
        case near(Double)
        case bad
    }

    private let rows: [TopRow]
    /// With the alerts of values that have no row.
    private let watched: [TopRow]
    private var samples: [TopSample] = []
    private var values: [[Double?]]
    /// By alert: when its value exceeded its bound, and the growth of its counters.
    private var beyond: [String: Double] = [:]
    private var grown: [String: [(at: Double, by: Double)]] = [:]
    private var mostLive = 0.0
    /// The reason why the last reading failed; `nil` if it succeeded.
    var failure: String?

    init(_ rows: [TopRow]) {
        self.rows = rows
        watched = rows + TopRow.unseen
        values = Array(repeating: [], count: rows.count)
    }

    mutating func add(_ metrics: MetricsText, at now: Double) {
        failure = nil
        let before = samples.last
        let earlier = samples.first { $0.at >= now - Self.window }
        let isLive = (metrics["live"] ?? 0) > 0
        let sample = TopSample(at: now, metrics: metrics)
        for (place, row) in watched.enumerated() {
            let value = row.isOfRedis && !isLive ? nil : row.read(sample, before, earlier)
            if rows.indices.contains(place) { values[place] = (values[place] + [value]).suffix(Self.most) }
            guard let alert = row.alert else { continue }
            // Without a value the state stays.
            if let value { beyond[alert.name] = value > alert.bound ? beyond[alert.name] ?? now : nil }
        }
        if let before { note(from: before.metrics, to: metrics, at: now) }
        mostLive = max(mostLive, metrics["live"] ?? 0)
        let isPartlyStale = (metrics["live"] ?? 0) < mostLive
        beyond[TopAlert.partlyStale.name] = isPartlyStale ? beyond[TopAlert.partlyStale.name] ?? now : nil
        samples = (samples + [sample]).suffix(Self.most)
    }

    private mutating func note(from last: MetricsText, to metrics: MetricsText, at now: Double) {
        for counter in TopCounter.all {
            let growth = counter.metrics.reduce(0.0) { sum, name in
                let (before, value) = (last[name] ?? 0, metrics[name] ?? 0)
                // Less than before: the server was started anew.
                return sum + (value < before ? value : value - before)
            }
            grown[counter.alert, default: []].removeAll { now - $0.at >= counter.seconds }
            if growth > 0 { grown[counter.alert, default: []].append((now, growth)) }
        }
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

    /// The faults, each with the alert that operations.md explains: a value beyond its bound is one once its alert is. Until
    /// then its row alone has the time that is left.
    var faults: [(text: String, state: State)] {
        if let failure { return [("the numbers cannot be read: \(failure) (PresenceNoServer)", .bad)] }
        guard !samples.isEmpty else { return [] }
        guard live > 0 else { return [("no shard reaches Redis: clients see stale data (PresenceStale)", .bad)] }
        var faults: [(String, State)] = []
        // Clients see stale data already: shown before its alert.
        if case let state = state(of: .partlyStale), state != .well {
            faults.append(("some shards do not reach Redis (PresencePartlyStale)", state))
        }
        for (place, row) in watched.enumerated() {
            guard let alert = row.alert, state(of: alert) == .bad else { continue }
            guard rows.indices.contains(place) else {
                faults.append(("\(row.name) (\(alert.name))", .bad))
                continue
            }
            let value = values[place].last.flatMap(\.self).map(row.unit) ?? "–"
            faults.append(
                ("\(row.name.lowercased()) \(value), at most \(row.unit(alert.bound)) (\(alert.name))", .bad))
        }
        for counter in TopCounter.all where (grown[counter.alert] ?? []).reduce(0, { $0 + $1.by }) > counter.most {
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
