/// Detects runs that measured the tool rather than the server.
enum Bottlenecks {
    /// A share of one core beyond which the one thread has no time left.
    static let busiest = 0.9
    /// A lateness beyond which latencies are not the server's.
    static let latest: Nanoseconds = .milliseconds(2)

    /// - Parameters:
    ///   - cpuShare: the tool's share of one core during the measurement.
    ///   - serverCPUShare: the server's share, if known.
    ///   - lateness: the delay in sending by the clock; `nil` without a clock.
    static func find(cpuShare: Double, serverCPUShare: Double? = nil, lateness: Latencies?) -> [String] {
        var found: [String] = []
        if cpuShare > busiest {
            let share = "this tool used \(formatted(cpuShare * 100, digits: 0)) % of a core"
            // A server that was as busy was equally the cause.
            let isShared = serverCPUShare.map { $0 >= busiest } ?? false
            found.append(
                share + (isShared ? " and the server as much: both were full" : " and was itself the bottleneck"))
        }
        if let lateness, lateness.count > 0, lateness.percentile(99) > latest {
            let late = Double(lateness.percentile(99)) / 1e6
            found.append("this tool sent up to \(formatted(late)) ms late (p99), which is part of the latencies")
        }
        return found
    }
}
