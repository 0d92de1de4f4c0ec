import ArgumentParser
import Foundation

/// `presence-load churn`: people of a real graph connect and disconnect.
struct ChurnCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "churn",
        abstract: "People of a real graph come and go, with heavy-tailed session lengths, before those who know them.",
        discussion: """
            People arrive at random moments, --rate a second, and stay for a time that is often short and sometimes \
            very long. Each watches all their neighbours while they are here, and comes back with the versions that they \
            hold. They leave with a goodbye, or lose their line, which others notice only after linger; of those, some \
            come back before that, which nobody may notice. At the end, after a moment of quiet, what everyone shows is \
            compared with the truth and with a fresh get, person by person: any difference fails the run.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: ArgumentHelp("Who knows whom: lines of two names.", valueName: "file"))
    var graph: String

    @Option(help: "How many of the graph's people take part, breadth first from the one with most edges; 0 is all.")
    var people = 2_000

    @Option(help: "Seconds during which people come and go.")
    var duration = 30.0

    @Option(help: "Arrivals a second, on average.")
    var rate = 50.0

    @Option(help: "How session lengths are distributed: log-normal or pareto.")
    var sessions = Sessions.logNormal

    @Option(help: "The median length of a session, in seconds.")
    var median = 8.0

    @Option(help: "Log-normal: the deviation of the length's logarithm.")
    var sigma = 1.5

    @Option(help: "Pareto: the exponent; the smaller, the heavier the tail.")
    var alpha = 1.2

    @Option(help: "How many of a hundred sessions end because the line is lost.")
    var lost = 30

    @Option(help: "How many of a hundred who lost their line come back before their linger is over.")
    var back = 50

    @Option(help: "The seed of all random choices.")
    var seed: UInt64 = 1

    @Option(help: "The server's process, to measure what an event costs it; may be given several times.")
    var serverPid: [Int32] = []

    @Option(help: "How many seconds without any progress are too long.")
    var patience = 15.0

    enum Sessions: String, ExpressibleByArgument, CaseIterable {
        case logNormal = "log-normal"
        case pareto
    }

    func validate() throws {
        guard people >= 0, duration > 0, rate > 0, median > 0, sigma >= 0, alpha > 0, patience > 0 else {
            throw ValidationError("--duration, --rate, --median, --alpha and --patience are more than 0.")
        }
        guard (0...100).contains(lost), (0...100).contains(back) else {
            throw ValidationError("--lost and --back are from 0 to 100.")
        }
    }

    func run() throws {
        let mint = try server.mint()
        let processor = try ProcessorTime(processes: serverPid)
        let text: String
        do {
            text = try String(contentsOfFile: graph, encoding: .utf8)
        } catch {
            throw Failure("cannot read \(graph)")
        }
        let neighbours = try Graph(text, file: graph).neighbourhood(of: people)
        let name = String(UInt32.random(in: .min ... .max), radix: 36)
        // A connection for each, one that asks at the end, and half as many again that are still closing.
        let engine = try server.engine(connections: neighbours.count * 3 / 2 + 1)
        let run = ChurnRun(
            self, neighbours: neighbours, users: NumberedUsers(prefix: "churn-\(name)-"), engine: engine, mint: mint,
            processor: processor)
        defer { run.finish() }
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        try reporting.publish(run.report())
    }

    /// The length of a session in seconds.
    func length(_ random: inout SeededRandom) -> Double {
        switch sessions {
        case .logNormal: random.logNormal(median: median, sigma: sigma)
        case .pareto: random.pareto(median: median, alpha: alpha)
        }
    }
}

extension Graph {
    /// The neighbours of each of the first `count` people in breadth-first order, restricted to these people, as
    /// positions in that order; with 0, for all people.
    func neighbourhood(of count: Int) -> [[Int]] {
        let order = neighbourhoodOrder().prefix(count > 0 ? count : neighbours.count)
        var places = [Int?](repeating: nil, count: neighbours.count)
        for (place, node) in order.enumerated() { places[node] = place }
        return order.map { node in neighbours[node].compactMap { places[$0] }.sorted() }
    }
}
