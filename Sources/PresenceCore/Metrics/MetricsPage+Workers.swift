import EventLoops
import Workers

/// The metrics of thread pools: each with the pool's name as its label.
extension MetricsSnapshot {
    /// The exact decimal form of a number with this many fractional digits: `1500` with three is `1.5`.
    static func decimal(_ value: Int64, _ places: Int) -> String {
        let digits = String(value.magnitude)
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        var fraction = padded.suffix(places)
        while fraction.last == "0" { fraction.removeLast() }
        return (value < 0 ? "-" : "") + padded.dropLast(places) + (fraction.isEmpty ? "" : "." + fraction)
    }

    var workerLines: [String] {
        guard !workers.isEmpty else { return [] }
        var lines: [String] = []
        func head(_ name: String, _ type: String, _ help: String) {
            lines.append("# HELP presence_\(name) \(help)")
            lines.append("# TYPE presence_\(name) \(type)")
        }
        func numbers(_ name: String, _ type: String, _ help: String, _ value: (WorkerNumbers) -> Int) {
            head(name, type, help)
            for pool in workers { lines.append("presence_\(name){pool=\"\(pool.name)\"} \(value(pool))") }
        }
        func times(_ name: String, _ help: String, _ value: (WorkerNumbers) -> MetricHistogram) {
            head(name, "histogram", help)
            for pool in workers {
                let (values, label) = (value(pool), "pool=\"\(pool.name)\"")
                var total = 0
                for (bound, count) in zip(values.bounds, values.counts) {
                    total += count
                    let edge = Self.decimal(bound, 6)
                    lines.append("presence_\(name)_bucket{\(label),le=\"\(edge)\"} \(total)")
                }
                lines.append("presence_\(name)_bucket{\(label),le=\"+Inf\"} \(values.count)")
                lines.append("presence_\(name)_sum{\(label)} \(Self.decimal(values.sum, 6))")
                lines.append("presence_\(name)_count{\(label)} \(values.count)")
            }
        }
        numbers("workers_threads", "gauge", "threads of each pool") { $0.threads }
        numbers("workers_queued", "gauge", "jobs that wait for a thread, and places reserved for future jobs") {
            $0.queued
        }
        numbers("workers_running", "gauge", "jobs in progress") { $0.running }
        numbers("workers_done_total", "counter", "completed jobs") { $0.done }
        numbers("workers_refused_total", "counter", "jobs refused because too many were waiting") { $0.refused }
        numbers("workers_cancelled_total", "counter", "jobs cancelled because their connection closed") {
            $0.cancelled
        }
        times("workers_waiting_seconds", "waiting time of jobs") { $0.waitingTimes }
        times("workers_running_seconds", "run time of jobs") { $0.runningTimes }
        return lines
    }
}
