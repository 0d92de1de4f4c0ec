import ArgumentParser

/// `presence-load typing`: conversations in which people type.
struct TypingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "typing",
        abstract: "People in many conversations type and think: how soon does every participant see it?",
        discussion: """
            Every participant of every conversation has a connection and watches it. Each thinks for a random while, \
            types for a random while, saying so again every 3 s, and stops. Latency runs from the moment at which \
            somebody was to start, or stop, until each participant sees it. At the end everybody stops, and nobody may \
            be shown typing: neither on a screen nor to somebody who asks anew.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "How many conversations there are.")
    var conversations = 500

    @Option(help: "How many people each has, all different.")
    var participants = 8

    @Option(help: "Seconds during which people type.")
    var duration = 30.0

    @Option(help: "How many seconds a person thinks before they type, on average; at least one.")
    var think = 20.0

    @Option(help: "How many seconds a person types, on average.")
    var typing = 6.0

    @Option(help: "Connections opened a second; 0 is as fast as the server answers.")
    var connectRate = 2_000.0

    @Option(help: "The seed of all random choices.")
    var seed: UInt64 = 1

    @Option(help: "The server's process, to measure its cost of an event; may be given several times.")
    var serverPid: [Int32] = []

    @Option(help: "How many seconds without any progress are too long.")
    var patience = 15.0

    func validate() throws {
        guard conversations >= 1, (2...20).contains(participants) else {
            throw ValidationError("--conversations is at least 1, and --participants from 2 to 20.")
        }
        guard think >= 1, typing > 0, duration > 0, patience > 0, connectRate >= 0 else {
            throw ValidationError("--think is at least 1 s; --typing, --duration and --patience are more than 0.")
        }
    }

    func run() throws {
        let mint = try server.mint()
        let processor = try ProcessorTime(processes: serverPid)
        let engine = try server.engine(connections: conversations * participants)
        let name = String(UInt32.random(in: .min ... .max), radix: 36)
        let run = TypingRun(
            self, users: NumberedUsers(prefix: "typing-\(name)-"), engine: engine, mint: mint, processor: processor)
        try engine.run(run)
        run.finish()
        engine.closeAll()
        guard !engine.interrupted else { throw ExitCode(130) }
        try reporting.publish(run.report())
    }
}
