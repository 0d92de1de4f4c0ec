import ArgumentParser
import Foundation

/// `presence-load replay`: a real chat on a real graph, and then a comparison with the truth.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Plays a real chat: its people come, go, type and change their names before those who know them.",
        discussion: """
            The trace has rows of time_ms,event,user,text_length with the events join, leave, message and rename; the \
            graph has lines of two names. The people of the trace are put on nodes of the graph, and each watches all \
            their neighbours. They write to each other in conversations of up to ten, texts as long as in the trace, and \
            mark what they get. After the last event and a moment of quiet, what every watcher shows is compared with \
            the truth and with a fresh get, person by person; so are everybody's messages, marks and counts, those of people \
            who have left too: any difference fails the run.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: ArgumentHelp("What happened.", valueName: "file.csv"))
    var trace: String

    @Option(help: ArgumentHelp("Who knows whom.", valueName: "file"))
    var graph: String

    @Option(help: "How many times faster than the original.")
    var speed = 240.0

    @Option(help: "How many of a hundred who leave lose their line instead of saying goodbye; linger then applies.")
    var lost = 0

    @Option(help: "How many seconds without any progress are too long.")
    var patience = 15.0

    func validate() throws {
        guard speed > 0, patience > 0 else { throw ValidationError("--speed and --patience are more than 0.") }
        guard (0...100).contains(lost) else { throw ValidationError("--lost is from 0 to 100.") }
    }

    func run() throws {
        let mint = try server.mint()
        let name = String(UInt32.random(in: .min ... .max), radix: 36)
        let trace = try Trace(Self.read(trace), file: trace)
        let cast = try Cast(trace, Graph(Self.read(graph), file: graph), prefix: "replay-\(name)")
        // A connection for each, those that ask at the end, and as many again that are still closing.
        let engine = try server.engine(connections: 2 * cast.players + 1 + ReplayRun.mostCheckers)
        let run = ReplayRun(self, trace: trace, cast: cast, engine: engine, mint: mint)
        defer { run.finish() }
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        try reporting.publish(run.report())
    }

    private static func read(_ file: String) throws(Failure) -> String {
        do {
            return try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            throw Failure("cannot read \(file)")
        }
    }
}
