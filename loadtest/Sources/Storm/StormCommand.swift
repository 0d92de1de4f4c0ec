import ArgumentParser

/// `presence-load storm`: a server is restarted under many clients, and all of them reconnect.
struct StormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storm",
        abstract: "A server restarts under many clients: when are all back and right, and what do others notice?",
        discussion: """
            Clients connect and watch each other and a few bystanders, who are on a server that goes on, with the same \
            Redis. Then --restart-command is run. The clients come back as the protocol wants (or, with --at-once, all \
            at one moment), and subscribe with the versions that they hold. Meanwhile the bystanders change their \
            status text by the clock and watch each other. It ends when everyone shows the truth: all are online, with \
            the bystanders' last texts.
            """
    )

    @OptionGroup var servers: ServersOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "How many clients there are, each a person of their own.")
    var clients = 19_000

    @Option(help: "How many of the others each client watches.")
    var watch = 20

    @Option(
        help: ArgumentHelp(
            "A shell command that restarts the server at --url and returns once it serves again.", valueName: "cmd"))
    var restartCommand: String

    @Flag(help: "The clients ignore what the server advises and come back all at once, as soon as it serves again.")
    var atOnce = false

    @Option(help: ArgumentHelp("Another server on the same Redis, for the bystanders.", valueName: "ws://…"))
    var bystanderURL: String

    @Option(help: "How many bystanders there are; each watches all the others.")
    var bystanders = 20

    @Option(help: "Changes a second, of all bystanders together, by the clock.")
    var bystanderRate = 10.0

    @Option(help: "How many of the bystanders each client watches.")
    var watchBystanders = 2

    @Option(help: "Seconds of calm, measured too, before the restart and after everyone is back.")
    var calm = 5.0

    @Option(help: "Connections opened a second at the beginning; 0 is as fast as the server answers.")
    var connectRate = 2_000.0

    @Option(help: "How many seconds after the restart are too long for the last client.")
    var patience = 120.0

    @Option(help: "The seed of the clients' random waits.")
    var seed: UInt64 = 1

    func validate() throws {
        guard clients >= 2, (1..<clients).contains(watch) else {
            throw ValidationError("--clients is at least 2, and --watch from 1 to one less.")
        }
        guard bystanders >= 2, (0...bystanders).contains(watchBystanders), bystanderRate > 0 else {
            throw ValidationError("--bystanders is at least 2, --watch-bystanders at most that.")
        }
        guard calm >= 0, connectRate >= 0, patience > 0 else { throw ValidationError("A time cannot be negative.") }
    }

    func run() throws {
        let mint = try servers.mint()
        let bystanderServer = try Endpoint(url: bystanderURL)
        // The bystanders' own engine needs as many files again, and the metrics need one.
        try OpenFiles.allow(clients + bystanders + 1)
        let engine = try servers.engine(connections: clients)
        let name = String(UInt32.random(in: .min ... .max), radix: 36)
        let bystanders = Bystanders(
            endpoint: bystanderServer, users: NumberedUsers(prefix: "storm-\(name)-b"), count: bystanders,
            rate: bystanderRate, mint: mint)
        let run = try StormRun(self, name: name, engine: engine, bystanders: bystanders, mint: mint)
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        try reporting.publish(try run.report())
    }
}
