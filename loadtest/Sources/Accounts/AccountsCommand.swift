import ArgumentParser
import Glibc

/// `presence-load accounts`: the latency of calls about accounts, and the effect of many sign-ins on other clients.
struct AccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "People sign up, sign in and read their account; then many sign in at one moment.",
        discussion: """
            Each call has a connection and an address of its own; latency runs from before the dialling. Then --burst \
            people sign in at one moment, while others change their status text by the clock and watch each other. Those \
            for whom there is no place in the queue of passwords must be told when to try again.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var measuring: MeasuringOptions
    @OptionGroup var reporting: ReportOptions

    @Option(help: "How many people sign up.")
    var people = 400

    @Option(help: "How many calls of each other kind.")
    var calls = 2_000

    @Option(help: "How many sign-ins one after the other.")
    var signIns = 400

    @Option(help: "How many calls are under way at once.")
    var atOnce = 8

    @Option(help: "How many sign in at one moment; 0 leaves it out.")
    var burst = 1_000

    @Option(help: "How many people change and watch each other meanwhile.")
    var bystanders = 20

    @Option(help: "Changes a second, of all of them together, by the clock.")
    var bystanderRate = 100.0

    @Option(help: "Seconds for which they are measured before the burst, and at least from its beginning on.")
    var calm = 3.0

    func validate() throws {
        guard people >= 1, calls >= 1, signIns >= 1, calm > 0 else {
            throw ValidationError("--people, --calls, --sign-ins and --calm are more than 0.")
        }
        // More would exceed the queue for passwords (64), and all these calls must succeed.
        guard (1...32).contains(atOnce) else { throw ValidationError("--at-once is from 1 to 32.") }
        guard (0...(3 * people)).contains(burst) else {
            throw ValidationError("--burst is at most three for each of the --people: more are guesses.")
        }
        guard bystanders >= 2, bystanderRate > 0 else {
            throw ValidationError("--bystanders is at least 2, and their rate more than 0.")
        }
    }

    func run() throws { try reporting.publish(measure()) }

    /// The whole run.
    func measure() throws -> AccountsReport {
        try Core.pin(to: measuring.pin)
        let endpoint = try Endpoint(url: server.url)
        try OpenFiles.allow(burst + bystanders + atOnce)
        let clients = HTTPClients(
            endpoint: endpoint,
            sources: try SourceAddresses(
                connections: 1 << 20, first: server.clients.source, endpoint: endpoint),
            patience: .seconds(measuring.patience))
        let processor = try ProcessorTime(processes: measuring.serverPid)
        let name = String(UInt32.random(in: .min ... .max), radix: 36)
        var run = AccountsRun(clients: clients, people: people, name: name, atOnce: atOnce)
        try run.signUp()
        try run.signIn(signIns)
        try run.refresh(calls)
        try run.read(calls)
        try run.checkNames(calls)
        guard burst > 0 else { return AccountsReport(self, run.measured, serverUsed: processor.used()) }
        let others = Bystanders(
            endpoint: endpoint, users: NumberedUsers(prefix: "accounts-\(name)-b"), count: bystanders,
            rate: bystanderRate, mint: try server.mint())
        others.start()
        try wait(for: others) { $0.isReady }
        others.order(.change)
        usleep(UInt32(calm * 1e6))
        let result = try run.burst(burst)
        // A short burst would leave few changes to measure.
        let left = .seconds(calm) - (Instant.now() - result.began)
        if left > 0 { usleep(UInt32(left / 1_000)) }
        others.order(.settle)
        try wait(for: others) { $0.isSettled }
        let end = others.now
        others.order(.leave)
        return AccountsReport(self, run.measured, result, end, serverUsed: processor.used())
    }

    private func wait(for others: Bystanders, until isDone: (Bystanders.State) -> Bool) throws(Failure) {
        let deadline = Instant.now() + .seconds(measuring.patience)
        while true {
            let state = others.now
            if let failure = state.failure { throw failure }
            if isDone(state) { return }
            guard Instant.now() < deadline else { throw Failure("the bystanders have not connected") }
            usleep(10_000)
        }
    }
}
