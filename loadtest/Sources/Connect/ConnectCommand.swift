import ArgumentParser

/// `presence-load connect`: the cost of a connection, of the first as of the last.
struct ConnectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Clients connect, authenticate and subscribe: what does each cost, and does that grow?",
        discussion: """
            A connection is a handshake, a token, a session and a subscription; it is made when the subscription is \
            answered. Latency runs from the moment at which a connection was meant to be dialled. Tokens are made \
            beforehand. A peer's server does of this what its templates say.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var gathering: GatheringOptions
    @OptionGroup var peering: PeerOptions
    @OptionGroup var measuring: MeasuringOptions
    @OptionGroup var redis: RedisOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "Connections in a step, each of which is measured apart.")
    var step = 1_000

    func validate() throws {
        guard step >= 1 else { throw ValidationError("--step is at least 1.") }
    }

    func run() throws { try reporting.publish(measure()) }

    /// The whole run.
    func measure() throws -> ConnectReport {
        try Core.pin(to: measuring.pin)
        let crowd = gathering.crowd(isPeer: peering.peer != nil)
        let dialect = try peering.dialect(server, crowd: crowd)
        let processor = try ProcessorTime(processes: measuring.serverPid)
        let engine = try server.engine(connections: crowd.total, subprotocol: dialect.subprotocol)
        let run = ConnectRun(
            self, engine: engine, crowd: crowd, dialect: dialect, processor: processor, redis: try redis.processor())
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        return ConnectReport(self, run.measurement, server: server.url)
    }
}
