import ArgumentParser

/// `presence-load fanout`: people change, others watch them, and every receipt is timed.
struct FanoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract:
            "Some people change, many watch them all; how long until every watcher has it, and what does it cost?",
        discussion: """
            Latency runs from the moment at which a change was meant to be sent to each watcher's receipt. With --rate \
            changes are sent by the clock, whether or not the server keeps up; without it, each one when the last has \
            reached everybody. A watcher who gets a newer change instead of one has that one counted as conflated; at \
            the end everyone must hold the newest of everybody, or the run has failed.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var peering: PeerOptions
    @OptionGroup var measuring: MeasuringOptions
    @OptionGroup var redis: RedisOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "How many connections watch.")
    var watchers = 1_000

    @Option(help: "How many people change, in turn; every watcher watches all of them.")
    var people = 1

    @Option(help: "How many changes are made and measured.")
    var changes = 200

    @Option(help: "Changes a second by the clock; 0 waits for each to reach everybody.")
    var rate = 0.0

    @Option(help: "With --rate 0: how many changes, of different people, are under way at once.")
    var pending = 1

    @Option(help: "What changes: the status text of the presence, or the profile's displayName.")
    var change = ChangeKind.text

    @Option(help: "Changes before the measured ones.")
    var warmUp = 10

    @Option(help: "Connections opened a second; 0 is as fast as the server answers.")
    var connectRate = 2_000.0

    func validate() throws {
        guard watchers >= 1, people >= 1, changes >= 1, warmUp >= 0 else {
            throw ValidationError("--watchers, --people and --changes are at least 1.")
        }
        guard rate >= 0, connectRate >= 0 else { throw ValidationError("A rate cannot be negative.") }
        guard peering.peer == nil || change == .text else {
            throw ValidationError("--change is for our own server.")
        }
        guard (1...people).contains(pending) else {
            throw ValidationError("--pending counts different people: it is from 1 to --people.")
        }
    }

    func run() throws { try reporting.publish(measure()) }

    /// The whole run.
    func measure() throws -> FanoutReport {
        try Core.pin(to: measuring.pin)
        let crowd = Crowd(subjects: people, watchers: watchers)
        let dialect = try peering.dialect(server, crowd: crowd, kind: change)
        let processors = FanoutMeasurement.Processors(
            server: try ProcessorTime(processes: measuring.serverPid), redis: try redis.processor())
        let engine = try server.engine(connections: crowd.total, subprotocol: dialect.subprotocol)
        let run = FanoutRun(self, engine: engine, crowd: crowd, dialect: dialect, processors: processors)
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        return run.report()
    }
}
