import Foundation

/// The results of a churn.
struct ChurnReport: Report {
    let scenario = "churn"
    let server: String
    let graph: String
    let people: Int
    /// Pairs of a person and a person whom they watch.
    let subscriptions: Int
    let seconds: Double
    let seed: UInt64
    let arrivals: Int
    let arrivalsSkipped: Int
    let goodbyes: Int
    let lostLines: Int
    let returns: Int
    let lateReturns: Int
    let visitsDeferred: Int
    let mostHere: Int
    let events: Int
    let eventsPerSecond: Double
    let overtaken: Int
    let repeated: Int
    /// Milliseconds from the due time to the arrival.
    let connectingMilliseconds: Latencies.Summary?
    let onlineMilliseconds: Latencies.Summary?
    let offlineMilliseconds: Latencies.Summary?
    /// From the loss of a connection; linger is part of it.
    let afterLossMilliseconds: Latencies.Summary?
    let latenessMilliseconds: Latencies.Summary?
    let serverCPUMicrosecondsPerEvent: Double?
    /// A change is an arrival, a goodbye, a loss or a return.
    let serverCPUMicrosecondsPerChange: Double?
    let serverCPUShare: Double?
    let ownCPUShare: Double
    let bottlenecks: [String]
    /// Facts compared with the truth, and the number that differ.
    let compared: Int
    let differences: Int
    let failures: [String]
    let succeeded: Bool

    /// The most differences that are reported individually.
    static let mostTold = 20

    init(_ options: ChurnCommand, _ measurement: ChurnMeasurement, people: Int, watched: Int) {
        server = options.server.url
        graph = options.graph
        self.people = people
        subscriptions = watched
        seconds = measurement.seconds
        seed = options.seed
        arrivals = measurement.arrivals
        arrivalsSkipped = measurement.skipped
        goodbyes = measurement.goodbyes
        lostLines = measurement.lostLines
        returns = measurement.returns
        lateReturns = measurement.lateReturns
        visitsDeferred = measurement.deferred
        mostHere = measurement.mostHere
        events = measurement.events
        let wall = max(measurement.seconds, 1e-9)
        eventsPerSecond = Double(measurement.events) / wall
        overtaken = measurement.overtaken
        repeated = measurement.repeated
        connectingMilliseconds = measurement.connecting.summary
        onlineMilliseconds = measurement.online.summary
        offlineMilliseconds = measurement.offline.summary
        afterLossMilliseconds = measurement.afterLoss.summary
        latenessMilliseconds = measurement.lateness.summary
        let changes = measurement.arrivals + measurement.goodbyes + measurement.lostLines + measurement.returns
        let isServerKnown = !options.serverPid.isEmpty
        func cost(_ count: Int) -> Double? {
            isServerKnown && count > 0 ? Double(measurement.serverUsed) / 1e3 / Double(count) : nil
        }
        serverCPUMicrosecondsPerEvent = cost(measurement.events)
        serverCPUMicrosecondsPerChange = cost(changes)
        serverCPUShare = isServerKnown ? measurement.serverUsed.inSeconds / wall : nil
        ownCPUShare = measurement.ownUsed.inSeconds / wall
        bottlenecks = Bottlenecks.find(
            cpuShare: ownCPUShare, serverCPUShare: serverCPUShare, lateness: measurement.lateness)
        compared = measurement.compared
        differences = measurement.differences.count
        var failures = measurement.failures + measurement.differences.prefix(Self.mostTold)
        if differences > Self.mostTold {
            failures.append("and \(formatted(differences - Self.mostTold)) more differences")
        }
        if measurement.flickers > 0 {
            failures.append("\(formatted(measurement.flickers)) times a connected person was shown offline")
        }
        if measurement.early > 0 {
            failures.append(
                "\(formatted(measurement.early)) times a person who lost their line was shown offline before linger ended"
            )
        }
        self.failures = failures
        succeeded = failures.isEmpty
    }

    var text: String {
        var lines = [
            "\(formatted(people)) people of \(graph) for \(formatted(seconds, digits: 1)) s",
            "  people           at most \(formatted(mostHere)) here, watching \(formatted(subscriptions)) between them all",
            "  changes          \(formatted(arrivals)) arrived, \(formatted(goodbyes)) said goodbye, "
                + "\(formatted(lostLines)) lost their line, \(formatted(returns)) returned",
            "  events           \(formatted(events)) received, \(formatted(eventsPerSecond, digits: 0)) a second; "
                + "\(formatted(overtaken)) overtaken by a newer change, \(formatted(repeated)) that changed nothing",
        ]
        for (name, summary) in [
            ("connected", connectingMilliseconds), ("seen to come", onlineMilliseconds),
            ("seen to go", offlineMilliseconds), ("seen lost", afterLossMilliseconds),
        ] {
            guard let summary else { continue }
            lines.append("  \(name.padding(toLength: 17, withPad: " ", startingAt: 0))\(summary)")
        }
        if let event = serverCPUMicrosecondsPerEvent, let change = serverCPUMicrosecondsPerChange,
            let share = serverCPUShare
        {
            lines.append(
                "  server           \(formatted(event, digits: 2)) µs CPU an event, \(formatted(change, digits: 1)) a change, "
                    + "\(formatted(share * 100)) % of a core")
        }
        lines.append("  this tool        \(formatted(ownCPUShare * 100)) % of a core")
        lines += bottlenecks.map { "  careful: \($0)" }
        lines.append("  compared         \(formatted(compared)) facts with the truth: \(formatted(differences)) differ")
        return lines.joined(separator: "\n") + "\n"
    }
}
