/// The results of a typing run.
struct TypingReport: Report {
    let scenario = "typing"
    let server: String
    let conversations: Int
    let participants: Int
    let connections: Int
    let seconds: Double
    let seed: UInt64
    let starts: Int
    let stops: Int
    let repetitions: Int
    let events: Int
    let eventsPerSecond: Double
    let repeated: Int
    let dropouts: Int
    /// Milliseconds from the time at which a person was due to start or stop until each participant saw it.
    let startMilliseconds: Latencies.Summary?
    let stopMilliseconds: Latencies.Summary?
    let latenessMilliseconds: Latencies.Summary?
    let serverCPUMicrosecondsPerEvent: Double?
    let serverCPUShare: Double?
    let ownCPUShare: Double
    let bottlenecks: [String]
    let failures: [String]
    let succeeded: Bool

    init(_ options: TypingCommand, _ measurement: TypingMeasurement) {
        server = options.server.url
        conversations = options.conversations
        participants = options.participants
        connections = options.conversations * options.participants
        seconds = measurement.seconds
        seed = options.seed
        starts = measurement.starts
        stops = measurement.stops
        repetitions = measurement.repetitions
        events = measurement.events
        let wall = max(measurement.seconds, 1e-9)
        eventsPerSecond = Double(measurement.events) / wall
        repeated = measurement.repeated
        dropouts = measurement.dropouts
        startMilliseconds = measurement.starting.summary
        stopMilliseconds = measurement.stopping.summary
        latenessMilliseconds = measurement.lateness.summary
        let isServerKnown = !options.serverPid.isEmpty && measurement.events > 0
        serverCPUMicrosecondsPerEvent =
            isServerKnown ? Double(measurement.serverUsed) / 1e3 / Double(measurement.events) : nil
        serverCPUShare = isServerKnown ? measurement.serverUsed.inSeconds / wall : nil
        ownCPUShare = measurement.ownUsed.inSeconds / wall
        bottlenecks = Bottlenecks.find(
            cpuShare: ownCPUShare, serverCPUShare: serverCPUShare, lateness: measurement.lateness)
        var failures = measurement.failures
        if measurement.dropouts > 0 {
            failures.append("\(formatted(measurement.dropouts)) times a typing person was shown to have stopped")
        }
        self.failures = failures
        succeeded = failures.isEmpty
    }

    var text: String {
        var lines = [
            "\(formatted(conversations)) conversations of \(participants) for \(formatted(seconds, digits: 1)) s",
            "  typing           \(formatted(starts)) starts, \(formatted(stops)) stops, \(formatted(repetitions)) repetitions",
            "  events           \(formatted(events)) received, \(formatted(eventsPerSecond, digits: 0)) a second",
        ]
        if let startMilliseconds { lines.append("  seen typing      \(startMilliseconds)") }
        if let stopMilliseconds { lines.append("  seen to stop     \(stopMilliseconds)") }
        if let cost = serverCPUMicrosecondsPerEvent, let share = serverCPUShare {
            lines.append(
                "  server           \(formatted(cost, digits: 2)) µs CPU an event, \(formatted(share * 100)) % of a core"
            )
        }
        lines.append("  this tool        \(formatted(ownCPUShare * 100)) % of a core")
        lines += bottlenecks.map { "  careful: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
