/// The results of a connect run.
struct ConnectReport: Report {
    let scenario = "connect"
    let server: String
    /// The file of the peer's templates; absent if our own server was measured.
    let peer: String?
    let connections: Int
    /// The number of people that each connection subscribed to.
    let watching: Int
    let subjects: GatheringOptions.Subjects
    /// The number of people from whom these are chosen.
    let people: Int
    /// Connections a second by the clock, or 0.
    let rate: Double
    let handshakesAtOnce: Int
    let seconds: Double
    let connectionsPerSecond: Double
    /// From the time at which a connection was due to be dialled until its subscription was answered.
    let latencyMilliseconds: Latencies.Summary?
    let latenessMilliseconds: Latencies.Summary?
    /// Absent without --server-pid; as in `steps`.
    let serverCPUMicrosecondsPerConnection: Double?
    /// The cost of a connection in the last whole step divided by that in the first; 1 is flat.
    let lastStepToFirstStep: Double?
    let steps: [ConnectMeasurement.Step]
    let serverCPUShare: Double?
    /// Absent without --redis-pid, like the next.
    let redisCPUMicrosecondsPerConnection: Double?
    let redisCPUShare: Double?
    let ownCPUMicrosecondsPerConnection: Double
    let ownCPUShare: Double
    let bottlenecks: [String]
    let failures: [String]
    let succeeded: Bool

    init(_ options: ConnectCommand, _ measurement: ConnectMeasurement, server: String) {
        self.server = server
        peer = options.peering.peer
        connections = measurement.connected
        watching = options.gathering.watching
        subjects = options.gathering.subjects
        people = options.gathering.people
        rate = options.gathering.rate
        handshakesAtOnce = options.gathering.atOnce
        seconds = measurement.seconds
        let wall = max(seconds, 1e-9)
        connectionsPerSecond = Double(connections) / wall
        latencyMilliseconds = measurement.latencies.summary
        latenessMilliseconds = measurement.lateness.summary
        steps = measurement.steps
        let isServerKnown = !options.measuring.serverPid.isEmpty && connections > 0
        serverCPUMicrosecondsPerConnection =
            isServerKnown ? Double(measurement.serverUsed) / 1e3 / Double(connections) : nil
        serverCPUShare = isServerKnown ? measurement.serverUsed.inSeconds / wall : nil
        func each(_ used: Nanoseconds) -> Double { Double(used) / 1e3 / Double(max(1, measurement.connected)) }
        redisCPUMicrosecondsPerConnection = measurement.redisUsed.map(each)
        redisCPUShare = measurement.redisUsed.map { $0.inSeconds / wall }
        ownCPUMicrosecondsPerConnection = each(measurement.ownUsed)
        ownCPUShare = measurement.ownUsed.inSeconds / wall
        // The last step may be short, and is then not comparable.
        let whole = steps.filter { $0.connections % options.step == 0 }
        if let first = whole.first?.serverCPUMicrosecondsPerConnection, whole.count > 1, first > 0 {
            lastStepToFirstStep = whole.last!.serverCPUMicrosecondsPerConnection! / first
        } else {
            lastStepToFirstStep = nil
        }
        bottlenecks = Bottlenecks.find(
            cpuShare: ownCPUShare, serverCPUShare: serverCPUShare, lateness: rate > 0 ? measurement.lateness : nil)
        failures =
            connections == options.gathering.connections
            ? [] : ["\(formatted(options.gathering.connections - connections)) connections never became ready"]
        succeeded = failures.isEmpty
    }

    var text: String {
        var lines = [
            "\(formatted(connections)) connections, each watching \(watching) of \(formatted(people)) people",
            "  connected        in \(formatted(seconds, digits: 2)) s, \(formatted(connectionsPerSecond, digits: 0)) "
                + "a second",
        ]
        if let latencyMilliseconds { lines.append("  until subscribed \(latencyMilliseconds)") }
        if let cost = serverCPUMicrosecondsPerConnection, let share = serverCPUShare {
            lines.append(
                "  server           \(formatted(cost)) µs CPU a connection, \(formatted(share * 100)) % of a core")
            lines += steps.map { step in
                let cost = formatted(step.serverCPUMicrosecondsPerConnection ?? 0)
                return "    up to \(formatted(step.connections))  \(cost) µs"
            }
        }
        if let cost = redisCPUMicrosecondsPerConnection, let share = redisCPUShare {
            lines.append(
                "  Redis            \(formatted(cost)) µs CPU a connection, \(formatted(share * 100)) % of a core")
        }
        lines.append("  this tool        \(formatted(ownCPUShare * 100)) % of a core")
        lines += bottlenecks.map { "  careful: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
