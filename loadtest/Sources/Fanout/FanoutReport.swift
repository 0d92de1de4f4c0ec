/// The results of a fan-out run.
struct FanoutReport: Report {
    let scenario = "fanout"
    let server: String
    /// The file of the peer's templates; absent if our own server was measured.
    let peer: String?
    /// The length of a delivered change, without the head of its frame.
    let messageBytes: Int
    let connections: Int
    let watchers: Int
    let people: Int
    let changes: Int
    /// Changes a second by the clock, or 0.
    let rate: Double
    let pending: Int
    let seconds: Double
    let deliveries: Int
    let conflated: Int
    let deliveriesPerSecond: Double
    /// Milliseconds from the time at which a change was due to a watcher's receipt.
    let latency: Latencies.Summary?
    /// Milliseconds from the time at which a change was due to the server's answer.
    let acknowledgement: Latencies.Summary?
    /// Milliseconds by which the tool sent late.
    let lateness: Latencies.Summary?
    /// Absent without --server-pid.
    let serverCPUMicrosecondsPerDelivery: Double?
    /// Its deliveries included; absent without --server-pid.
    let serverCPUMicrosecondsPerChange: Double?
    /// Share of one core; absent without --server-pid.
    let serverCPUShare: Double?
    /// Absent without --redis-pid, like the next.
    let redisCPUMicrosecondsPerChange: Double?
    let redisCPUShare: Double?
    let ownCPUShare: Double
    let ownCPUMicrosecondsPerDelivery: Double
    let ownCPUMicrosecondsPerChange: Double
    /// Reasons why the figures describe the tool rather than the server; usually empty.
    let bottlenecks: [String]
    let failures: [String]
    let succeeded: Bool

    init(_ options: FanoutCommand, _ measurement: FanoutMeasurement, connections: Int, server: String) {
        self.server = server
        peer = options.peering.peer
        messageBytes = measurement.messageBytes
        self.connections = connections
        watchers = options.watchers
        people = options.people
        changes = options.changes
        rate = options.rate
        pending = options.pending
        seconds = measurement.duration.inSeconds
        deliveries = measurement.deliveries
        conflated = measurement.conflated
        let wall = max(seconds, 1e-9)
        deliveriesPerSecond = Double(deliveries) / wall
        latency = measurement.latencies.summary
        acknowledgement = measurement.acknowledged.summary
        lateness = measurement.lateness.summary
        let isServerKnown = !options.measuring.serverPid.isEmpty && deliveries > 0
        let used = measurement.used
        func perChange(_ used: Nanoseconds) -> Double { Double(used) / 1e3 / Double(options.changes) }
        serverCPUMicrosecondsPerDelivery = isServerKnown ? Double(used.server) / 1e3 / Double(deliveries) : nil
        serverCPUMicrosecondsPerChange = isServerKnown ? perChange(used.server) : nil
        serverCPUShare = isServerKnown ? used.server.inSeconds / wall : nil
        redisCPUMicrosecondsPerChange = used.redis.map(perChange)
        redisCPUShare = used.redis.map { $0.inSeconds / wall }
        ownCPUShare = used.own.inSeconds / wall
        ownCPUMicrosecondsPerDelivery = Double(used.own) / 1e3 / Double(max(1, deliveries))
        ownCPUMicrosecondsPerChange = perChange(used.own)
        bottlenecks = Bottlenecks.find(
            cpuShare: ownCPUShare, serverCPUShare: serverCPUShare, lateness: rate > 0 ? measurement.lateness : nil)
        var failures = measurement.failures
        if measurement.older > 0 {
            failures.append(
                "\(formatted(measurement.older)) times a watcher was shown an older change after a newer one")
        }
        self.failures = failures
        succeeded = failures.isEmpty
    }

    var text: String {
        var lines = [
            "\(formatted(watchers)) watchers of \(formatted(people)) people, \(formatted(changes)) changes "
                + (rate > 0 ? "at \(formatted(rate)) a second" : "with \(pending) under way at once"),
            "  deliveries       \(formatted(deliveries)) in \(formatted(seconds, digits: 2)) s, "
                + "\(formatted(deliveriesPerSecond, digits: 0)) a second; \(formatted(conflated)) conflated",
        ]
        if let latency { lines.append("  receipt          \(latency)") }
        if let acknowledgement { lines.append("  acknowledgement  \(acknowledgement)") }
        if let cost = serverCPUMicrosecondsPerDelivery, let share = serverCPUShare {
            lines.append(
                "  server           \(formatted(cost, digits: 2)) µs CPU a delivery, \(formatted(share * 100)) % of a core"
            )
        }
        if let cost = redisCPUMicrosecondsPerChange, let share = redisCPUShare {
            lines.append(
                "  Redis            \(formatted(cost, digits: 2)) µs CPU a change, \(formatted(share * 100)) % of a core"
            )
        }
        lines.append(
            "  this tool        \(formatted(ownCPUMicrosecondsPerDelivery, digits: 2)) µs CPU a delivery, "
                + "\(formatted(ownCPUShare * 100)) % of a core")
        lines += bottlenecks.map { "  careful: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
