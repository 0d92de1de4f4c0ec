import ArgumentParser

/// `presence-load idle`: the cost of many idle connections.
struct IdleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle",
        abstract: "Many clients are idle: how much processor time, memory and Redis commands do they cost?",
        discussion: """
            Clients connect and subscribe as in `connect`, are quiet for --seconds, and then watch --further people more \
            of the same pool. Memory is read before the first client, before the quiet and after the further \
            subscriptions, of the server's processes and of the machine's kernel, which counts both ends of a connection \
            and whatever else runs.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var gathering: GatheringOptions
    @OptionGroup var peering: PeerOptions
    @OptionGroup var measuring: MeasuringOptions
    @OptionGroup var redis: RedisOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "How many seconds nothing happens.")
    var seconds = 60.0

    @Option(help: "How many seconds the after-effects of connecting and subscribing may take, before anything is read.")
    var settling = 2.0

    @Option(help: "How many people each client subscribes to after that.")
    var further = 200

    @Option(help: "The Redis' unix socket, to count its commands.")
    var redisSocket: String?

    func validate() throws {
        guard seconds > 0, settling >= 0, further >= 0 else {
            throw ValidationError("--seconds and --further cannot be negative.")
        }
        guard gathering.watching + further < gathering.people else {
            throw ValidationError("There are only \(gathering.people) people to watch: --pool.")
        }
        guard !measuring.serverPid.isEmpty else {
            throw ValidationError("--server-pid is needed: that process is measured.")
        }
    }

    func run() throws { try reporting.publish(measure()) }

    /// The whole run.
    func measure() throws -> IdleReport {
        try Core.pin(to: measuring.pin)
        let crowd = gathering.crowd(isPeer: peering.peer != nil)
        let dialect = try peering.dialect(server, crowd: crowd)
        let gauges = try IdleGauges(self)
        let engine = try server.engine(connections: crowd.total, subprotocol: dialect.subprotocol)
        let run = IdleRun(self, engine: engine, crowd: crowd, dialect: dialect, gauges: gauges)
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        return IdleReport(self, run.readings)
    }
}
