import ArgumentParser
import PresenceProtocol

/// `presence-load demo`: simulated people to look at.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Fills a running server with people who come, go, idle, are busy, type and change their names.",
        discussion: "It runs until Ctrl-C, or for --duration, and prints at the start how to watch."
    )

    /// Two devices, and as many connections again that are still closing.
    private static let connectionsEach = 4

    @OptionGroup var server: ServerOptions

    @Option(help: "How many people there are.")
    var people = 30

    @Option(help: "How many seconds it runs; 0 is forever.")
    var duration = 0.0

    @Option(
        help: ArgumentHelp(
            "Who will watch: this user takes part in the conversations, and so may see who types.", valueName: "user"))
    var viewer = "demo"

    @Option(help: "How many times busier than people are.")
    var pace = 1.0

    @Flag(help: "Show progress also when standard error is not a terminal, a line every two seconds.")
    var progress = false

    func validate() throws {
        guard (1...5_000).contains(people) else { throw ValidationError("--people is from 1 to 5000.") }
        guard duration >= 0, pace > 0, pace <= 100 else {
            throw ValidationError("--duration cannot be negative, and --pace is from 0 to 100.")
        }
        guard UserID(viewer) != nil else { throw ValidationError("--viewer is the id of a user, without spaces.") }
    }

    func run() throws {
        let mint = try server.mint()
        let most = OpenFiles.room / Self.connectionsEach
        guard people <= most else {
            throw Failure(
                """
                --people is at most \(most) here: each may need \(Self.connectionsEach) open files, and this process may \
                have \(OpenFiles.room + OpenFiles.spare); raise `ulimit -n`
                """)
        }
        let engine = try server.engine(connections: people * Self.connectionsEach)
        let run = DemoRun(self, engine: engine, mint: mint)
        defer { run.finish() }
        try engine.run(run)
        run.finish()
        engine.closeAll()
        print(run.summary)
    }
}
