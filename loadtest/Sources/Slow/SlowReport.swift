import Foundation

/// The results of a slow run.
struct SlowReport: Report {
    /// One of the two phases.
    struct Part: Codable {
        var seconds: Double
        /// Deliveries to watchers that were reading.
        var deliveries: Int
        var conflated: Int
        /// Latencies of watchers that are never slow, from the time at which a change was due.
        var latencyMilliseconds: Latencies.Summary?
        /// Absent without --server-pid.
        var serverCPUMicrosecondsPerDelivery: Double?
        var serverCPUShare: Double?
        var ownCPUShare: Double
    }

    let scenario = "slow"
    let server: String
    /// The file of the peer's templates; absent if our own server was measured.
    let peer: String?
    let messageBytes: Int
    let watchers: Int
    let slowReaders: Int
    let people: Int
    let changesPerSecond: Double
    /// SO_RCVBUF of the slow clients, which the kernel doubles; 0 is the kernel's choice.
    let slowReceiveBufferBytes: Int
    let allRead: Part
    let someDoNot: Part
    /// The growth of the server processes' memory during the second phase.
    let userKBPerSlowReader: Double?
    let kernelSlabKBPerSlowReader: Double
    /// Both ends' queues together.
    let kernelTCPKBPerSlowReader: Double
    /// Time after the slow clients read again.
    let catchUpSeconds: Double
    let catchUpDeliveries: Int
    let catchUpConflated: Int
    let slowReadersUpToDate: Int
    let slowReadersClosed: Int
    let bottlenecks: [String]
    let failures: [String]
    let succeeded: Bool

    init(_ options: SlowCommand, _ measurement: SlowMeasurement) {
        server = options.server.url
        peer = options.peering.peer
        messageBytes = measurement.messageBytes
        watchers = options.watchers
        slowReaders = options.slow
        people = options.people
        changesPerSecond = options.rate
        slowReceiveBufferBytes = Int(options.receiveBuffer)
        guard measurement.phases.count == 2, let began = measurement.phases.last?.began,
            let ended = measurement.phases.last?.ended
        else { preconditionFailure("the run did not end") }
        let isServerKnown = !options.measuring.serverPid.isEmpty
        let parts = measurement.phases.map { Self.part($0, isServerKnown: isServerKnown) }
        allRead = parts[0]
        someDoNot = parts[1]
        let count = Double(options.slow)
        if let before = began.serverMemory, let after = ended.serverMemory {
            userKBPerSlowReader = Double((after - before).privateDirtyKB) / count
        } else {
            userKBPerSlowReader = nil
        }
        kernelSlabKBPerSlowReader = Double((ended.kernel - began.kernel).slabKB) / count
        kernelTCPKBPerSlowReader = Double((ended.kernel - began.kernel).tcpKB) / count
        catchUpSeconds = measurement.catchingUp.inSeconds
        catchUpDeliveries = measurement.caughtUpDeliveries
        catchUpConflated = measurement.caughtUpConflated
        slowReadersUpToDate = measurement.upToDate
        slowReadersClosed = measurement.closed
        bottlenecks = zip(measurement.phases, parts).flatMap { phase, part in
            Bottlenecks.find(
                cpuShare: part.ownCPUShare, serverCPUShare: part.serverCPUShare, lateness: phase.lateness)
        }
        var failures = measurement.failures
        if measurement.older > 0 {
            failures.append(
                "\(formatted(measurement.older)) times a watcher was shown an older change after a newer one")
        }
        if measurement.closed > 0, let closing = measurement.firstClosing {
            failures.append(
                "\(formatted(measurement.closed)) slow readers lost their connection, the first: \(closing)")
        }
        self.failures = failures
        succeeded = failures.isEmpty
    }

    private static func part(_ phase: SlowPhase, isServerKnown: Bool) -> Part {
        let ended = phase.ended ?? phase.began
        let seconds = (ended.at - phase.began.at).inSeconds
        let used = ended.serverUsed - phase.began.serverUsed
        return Part(
            seconds: seconds, deliveries: phase.deliveries, conflated: phase.conflated,
            latencyMilliseconds: phase.latencies.summary,
            serverCPUMicrosecondsPerDelivery: isServerKnown && phase.deliveries > 0
                ? Double(used) / 1e3 / Double(phase.deliveries) : nil,
            serverCPUShare: isServerKnown ? used.inSeconds / max(seconds, 1e-9) : nil,
            ownCPUShare: (ended.ownUsed - phase.began.ownUsed).inSeconds / max(seconds, 1e-9))
    }

    var text: String {
        var lines = [
            "\(formatted(watchers)) watchers of \(formatted(people)) people, \(formatted(changesPerSecond)) changes a "
                + "second; \(formatted(slowReaders)) stop reading"
        ]
        for (name, part) in [("all read", allRead), ("some do not", someDoNot)] {
            let padded = name.padding(toLength: 16, withPad: " ", startingAt: 0)
            if let latency = part.latencyMilliseconds { lines.append("  \(padded) \(latency)") }
            if let cost = part.serverCPUMicrosecondsPerDelivery, let share = part.serverCPUShare {
                lines.append(
                    "                   \(formatted(cost, digits: 2)) µs CPU a delivery, "
                        + "\(formatted(share * 100)) % of a core")
            }
        }
        let user = userKBPerSlowReader.map { "\(formatted($0, digits: 2)) KB in the server, " } ?? ""
        lines.append(
            "  a slow reader    \(user)\(formatted(kernelTCPKBPerSlowReader)) KB in the kernel's queues, "
                + "\(formatted(kernelSlabKBPerSlowReader)) KB of its objects")
        lines.append(
            "  reading again    \(formatted(slowReadersUpToDate)) up to date after "
                + "\(formatted(catchUpSeconds, digits: 2)) s, \(formatted(catchUpConflated)) changes conflated")
        lines += bottlenecks.map { "  careful: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
