import Foundation

/// The results of a replay.
struct ReplayReport: Report {
    let scenario = "replay"
    let server: String
    let trace: String
    let graph: String
    let speed: Double
    let people: Int
    /// Pairs of a person and a person whom they watch.
    let subscriptions: Int
    let seconds: Double
    let joins: Int
    let lostLines: Int
    let leaves: Int
    let vanished: Int
    let renames: Int
    let messages: Int
    let conversations: Int
    let sent: Int
    let marks: Int
    let events: Int
    let overtaken: Int
    let repeated: Int
    /// Milliseconds from the due time to the arrival.
    let connecting: Latencies.Summary?
    let online: Latencies.Summary?
    let offline: Latencies.Summary?
    let renaming: Latencies.Summary?
    let typing: Latencies.Summary?
    let delivering: Latencies.Summary?
    let ownCPUShare: Double
    let bottlenecks: [String]
    /// Facts compared with the truth, and the number that differ.
    let compared: Int
    let differences: Int
    let failures: [String]
    let succeeded: Bool

    /// The most differences that are reported individually.
    static let mostTold = 20

    init(
        _ options: ReplayCommand, _ measurement: ReplayMeasurement, people: Int, watched: Int, seconds: Double,
        ownCPUShare: Double
    ) {
        server = options.server.url
        trace = options.trace
        graph = options.graph
        speed = options.speed
        self.people = people
        subscriptions = watched
        self.seconds = seconds
        joins = measurement.joins
        lostLines = measurement.lostLines
        leaves = measurement.leaves
        vanished = measurement.vanished
        renames = measurement.renames
        messages = measurement.messages
        conversations = measurement.conversations
        sent = measurement.sent
        marks = measurement.marks
        events = measurement.events
        overtaken = measurement.overtaken
        repeated = measurement.repeated
        connecting = measurement.connecting.summary
        online = measurement.online.summary
        offline = measurement.offline.summary
        renaming = measurement.renaming.summary
        typing = measurement.typing.summary
        delivering = measurement.delivering.summary
        self.ownCPUShare = ownCPUShare
        bottlenecks = Bottlenecks.find(cpuShare: ownCPUShare, lateness: measurement.lateness)
        compared = measurement.compared
        differences = measurement.differences.count
        var failures = measurement.failures + measurement.differences.prefix(Self.mostTold)
        if differences > Self.mostTold {
            failures.append("and \(formatted(differences - Self.mostTold)) more differences")
        }
        self.failures = failures
        succeeded = failures.isEmpty
    }

    var text: String {
        var lines = [
            "\(trace) at \(formatted(speed, digits: 0)) times its speed, \(formatted(seconds, digits: 1)) s",
            "  people           \(formatted(people)), watching \(formatted(subscriptions)) between them",
            "  deeds            \(formatted(joins)) joined, \(formatted(lostLines)) lost their line, "
                + "\(formatted(leaves)) left (\(formatted(vanished)) without goodbye), \(formatted(renames)) renamed, "
                + "\(formatted(messages)) messages typed in \(formatted(conversations)) conversations",
            "  messages         \(formatted(sent)) sent and acknowledged, \(formatted(marks)) marks",
            "  events           \(formatted(events)) received; \(formatted(overtaken)) overtaken by a newer change, "
                + "\(formatted(repeated)) that changed nothing",
        ]
        for (name, summary) in [
            ("connected", connecting), ("seen to come", online), ("seen to go", offline), ("seen renamed", renaming),
            ("seen typing", typing), ("message there", delivering),
        ] {
            guard let summary else { continue }
            lines.append("  \(name.padding(toLength: 17, withPad: " ", startingAt: 0))\(summary)")
        }
        lines.append("  this tool        \(formatted(ownCPUShare * 100)) % of a core")
        lines += bottlenecks.map { "  careful: \($0)" }
        lines.append("  compared         \(formatted(compared)) facts with the truth: \(formatted(differences)) differ")
        return lines.joined(separator: "\n") + "\n"
    }
}
