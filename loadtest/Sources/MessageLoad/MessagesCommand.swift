import ArgumentParser

/// `presence-load messages`: conversations in which people write.
struct MessagesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "People in many conversations send messages: how soon does every member have them?",
        discussion: """
            Every member of every conversation has a connection and follows its messages. Somebody drawn sends by the \
            clock. Latency runs from the moment at which a message was to be sent until each member has it. Each member \
            must get each message once and in order, and at the end all that was acknowledged.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var measuring: MeasuringOptions
    @OptionGroup var redis: RedisOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "How many conversations there are.")
    var conversations = 500

    @Option(help: "How many people each has, all different.")
    var members = 10

    @Option(help: "Messages sent a second, by all of them together.")
    var rate = 5_000.0

    @Option(help: "Seconds during which people write.")
    var duration = 20.0

    @Option(help: "Characters of a message.")
    var characters = 60

    @Flag(help: "Members mark messages as delivered, and watch their lists of conversations, as the libraries do.")
    var likeApps = false

    @Option(help: "Connections opened a second; 0 is as fast as the server answers.")
    var connectRate = 0.0

    @Option(help: "Decides who sends.")
    var seed: UInt64 = 1

    func validate() throws {
        guard conversations >= 1, (2...10).contains(members) else {
            throw ValidationError("--conversations is at least 1, and --members from 2 to 10.")
        }
        guard rate > 0, duration > 0, connectRate >= 0, (1...5_000).contains(characters) else {
            throw ValidationError("--rate and --duration are more than 0, and --characters from 1 to 5000.")
        }
    }

    func run() throws { try reporting.publish(measure()) }

    /// The whole run.
    func measure() throws -> MessagesReport {
        try Core.pin(to: measuring.pin)
        let engine = try server.engine(connections: conversations * members)
        let name = String(UInt32.random(in: .min ... .max), radix: 36)
        let run = MessagesRun(
            self, users: NumberedUsers(prefix: "messages-\(name)-"), engine: engine, mint: try server.mint(),
            server: try ProcessorTime(processes: measuring.serverPid), redis: try redis.processor())
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        return run.report()
    }
}
