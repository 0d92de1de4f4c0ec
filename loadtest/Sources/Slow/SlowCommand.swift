import ArgumentParser

/// `presence-load slow`: the cost of clients that stop reading, for all others.
struct SlowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slow",
        abstract: "Some of many watchers stop reading for a while: do the others notice, and what does it cost?",
        discussion: """
            Changes are made by the clock, in bursts of one of everybody's, for --seconds with all watchers reading, and \
            then for --seconds while --slow of them read nothing: their descriptors are taken out of epoll, and they \
            connected with an SO_RCVBUF of --receive-buffer bytes, which the kernel doubles. Latencies are those of the \
            watchers who are never slow, in both phases. Then the slow ones read again, and must come to hold the \
            newest of everybody. Who does not read does not answer pings either: a server that closes such connections \
            must be told to wait for longer than --seconds (slowConsumer.timeout and heartbeat.timeout of ours).
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var peering: PeerOptions
    @OptionGroup var measuring: MeasuringOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "How many connections watch, slow ones included.")
    var watchers = 1_000

    @Option(help: "How many of them stop reading.")
    var slow = 100

    @Option(help: "How many people change; every watcher watches all of them.")
    var people = 20

    @Option(help: "Changes a second, by the clock, in bursts of --people.")
    var rate = 40.0

    @Option(help: "How many seconds each of the two phases lasts.")
    var seconds = 20.0

    @Option(help: ArgumentHelp("SO_RCVBUF of the slow clients; 0 leaves it to the kernel.", valueName: "bytes"))
    var receiveBuffer: Int32 = 4_096

    @Option(help: "Connections opened a second; 0 is as fast as the server answers.")
    var connectRate = 2_000.0

    func validate() throws {
        guard watchers > slow, slow >= 1, people >= 1 else {
            throw ValidationError("--slow is at least 1, and fewer than --watchers.")
        }
        guard rate > 0, seconds > 0, connectRate >= 0, receiveBuffer >= 0 else {
            throw ValidationError("--rate and --seconds are more than 0.")
        }
        guard seconds * rate >= Double(people) else {
            throw ValidationError("In --seconds there is not one burst: raise --rate or --seconds.")
        }
    }

    func run() throws { try reporting.publish(measure()) }

    /// The whole run.
    func measure() throws -> SlowReport {
        try Core.pin(to: measuring.pin)
        let crowd = Crowd(subjects: people, watchers: watchers)
        let dialect = try peering.dialect(server, crowd: crowd)
        let gauges = SlowGauges(
            server: try ProcessorTime(processes: measuring.serverPid), processes: measuring.serverPid)
        let engine = try server.engine(connections: crowd.total, subprotocol: dialect.subprotocol)
        let run = SlowRun(self, engine: engine, crowd: crowd, dialect: dialect, gauges: gauges)
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        return SlowReport(self, run.measurement)
    }
}
