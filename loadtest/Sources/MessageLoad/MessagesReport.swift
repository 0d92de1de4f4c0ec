/// Counts and times while people write.
struct MessagesMeasurement {
    var sent = 0
    /// Messages that reached members, the senders among them.
    var deliveries = 0
    /// Messages marked as delivered, and changes of lists that reached members.
    var marks = 0
    var listEvents = 0
    /// From the time at which a message was due to its answer, and to each member's receipt.
    var answering = Latencies()
    var delivering = Latencies()
    /// The tool's own delay.
    var lateness = Latencies()
    /// The time of writing, and the time until all members had all messages.
    var writing = 0.0
    var seconds = 0.0
    var ownUsed: Nanoseconds = 0
    var serverUsed: Nanoseconds = 0
    /// `nil` if it is not measured.
    var redisUsed: Nanoseconds?
    var failures: [String] = []
}

/// The results of a messages run.
struct MessagesReport: Report {
    let scenario = "messages"
    let server: String
    let conversations: Int
    let members: Int
    let connections: Int
    let characters: Int
    let rate: Double
    let seconds: Double
    let seed: UInt64
    let sent: Int
    let sentPerSecond: Double
    let deliveries: Int
    let marks: Int
    let listEvents: Int
    /// Milliseconds from the time at which a message was due.
    let answerMilliseconds: Latencies.Summary?
    let receiptMilliseconds: Latencies.Summary?
    let latenessMilliseconds: Latencies.Summary?
    let serverCPUMicrosecondsPerMessage: Double?
    let serverCPUMicrosecondsPerDelivery: Double?
    let serverCPUShare: Double?
    let redisCPUMicrosecondsPerMessage: Double?
    let redisCPUShare: Double?
    let ownCPUShare: Double
    let bottlenecks: [String]
    let failures: [String]
    let succeeded: Bool

    init(_ options: MessagesCommand, _ measurement: MessagesMeasurement) {
        server = options.server.url
        conversations = options.conversations
        members = options.members
        connections = options.conversations * options.members
        characters = options.characters
        rate = options.rate
        seconds = measurement.seconds
        seed = options.seed
        sent = measurement.sent
        let wall = max(measurement.seconds, 1e-9)
        sentPerSecond = Double(measurement.sent) / wall
        deliveries = measurement.deliveries
        marks = measurement.marks
        listEvents = measurement.listEvents
        answerMilliseconds = measurement.answering.summary
        receiptMilliseconds = measurement.delivering.summary
        latenessMilliseconds = measurement.lateness.summary
        func each(_ used: Nanoseconds, of count: Int) -> Double? {
            count > 0 ? Double(used) / 1e3 / Double(count) : nil
        }
        let isServerKnown = !options.measuring.serverPid.isEmpty
        serverCPUMicrosecondsPerMessage = isServerKnown ? each(measurement.serverUsed, of: measurement.sent) : nil
        serverCPUMicrosecondsPerDelivery =
            isServerKnown ? each(measurement.serverUsed, of: measurement.deliveries) : nil
        serverCPUShare = isServerKnown ? measurement.serverUsed.inSeconds / wall : nil
        redisCPUMicrosecondsPerMessage = measurement.redisUsed.flatMap { each($0, of: measurement.sent) }
        redisCPUShare = measurement.redisUsed.map { $0.inSeconds / wall }
        ownCPUShare = measurement.ownUsed.inSeconds / wall
        bottlenecks = Bottlenecks.find(
            cpuShare: ownCPUShare, serverCPUShare: serverCPUShare, lateness: measurement.lateness)
        failures = measurement.failures
        succeeded = failures.isEmpty
    }

    var text: String {
        var lines = [
            "\(formatted(conversations)) conversations of \(members) for \(formatted(seconds, digits: 1)) s",
            "  sent             \(formatted(sent)) messages, \(formatted(sentPerSecond, digits: 0)) a second",
            "  received         \(formatted(deliveries))",
        ]
        if marks > 0 {
            lines.append("  marked           \(formatted(marks)); \(formatted(listEvents)) changes of lists received")
        }
        if let answerMilliseconds { lines.append("  acknowledged     \(answerMilliseconds)") }
        if let receiptMilliseconds { lines.append("  each receipt     \(receiptMilliseconds)") }
        if let message = serverCPUMicrosecondsPerMessage, let delivery = serverCPUMicrosecondsPerDelivery,
            let share = serverCPUShare
        {
            lines.append(
                "  server           \(formatted(message, digits: 1)) µs CPU a message, \(formatted(delivery, digits: 2)) "
                    + "a delivery, \(formatted(share * 100)) % of a core")
        }
        if let message = redisCPUMicrosecondsPerMessage, let share = redisCPUShare {
            lines.append(
                "  Redis            \(formatted(message, digits: 1)) µs CPU a message, \(formatted(share * 100)) % of a core"
            )
        }
        lines.append("  this tool        \(formatted(ownCPUShare * 100)) % of a core")
        lines += failures.map { "  wrong: \($0)" }
        lines += bottlenecks.map { "  careful: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
