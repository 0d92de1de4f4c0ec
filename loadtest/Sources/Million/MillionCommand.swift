import ArgumentParser

/// `presence-load million`: one process' part of a very large crowd.
struct MillionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "million",
        abstract: "One process of many that together run a very large crowd: connected, watching, nearly free.",
        discussion: """
            Its clients are the users m-K, m-(K+1) … of a crowd of --users. Each watches a few others, spread evenly \
            over the crowd, so on other servers and in other processes. They are opened at --rate a second and spread \
            over the servers; one that is refused or lost is dialled again.

            It prints a line of JSON every two seconds. A line `change N` on its standard input makes user m-N, if that \
            is one of its own, change their status text; every process with a watcher prints a line when the change \
            has come, with its latency from the reading of that line: their clock is the same. With --hold it stays \
            until SIGTERM, or until standard input, if that is a pipe, ends. It goes without a goodbye.
            """
    )

    @OptionGroup var servers: ServersOptions

    @Option(help: "How many connections this process holds.")
    var connections = 19_500

    @Option(help: "The number of this process' first user.")
    var firstUser = 0

    @Option(help: "How many users the whole crowd has, over all processes.")
    var users = 1_000_000

    @Option(help: "How many of the others each client watches.")
    var watch = 5

    @Option(help: "Connections opened a second; 0 is as fast as the servers answer.")
    var rate = 200.0

    @Flag(help: "Stay until SIGTERM, or until standard input ends, instead of leaving when all connections are open.")
    var hold = false

    @Option(help: "How many seconds without a new connection, while some are missing, are too long; 0 waits for ever.")
    var patience = 60.0

    func validate() throws {
        guard connections >= 1, firstUser >= 0, firstUser + connections <= users else {
            throw ValidationError("--first-user and --connections are within --users.")
        }
        guard (0..<users).contains(watch) else { throw ValidationError("--watch is less than --users.") }
        guard rate >= 0, patience >= 0 else { throw ValidationError("A rate cannot be negative.") }
    }

    func run() throws {
        let mint = try servers.mint()
        let engine = try servers.engine(connections: connections)
        let run = MillionRun(self, engine: engine, mint: mint)
        try engine.run(run)
        run.finish()
        if let failure = run.failure { throw failure }
        guard hold || !engine.interrupted else { throw ExitCode(130) }
    }
}
