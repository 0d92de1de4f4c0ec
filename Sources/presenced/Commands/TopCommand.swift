import ArgumentParser
import Foundation
import Installation
import PresenceCore
import ProcessSignals

/// The console's overview in a terminal.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show whether all is well, and the numbers of a running server, live.",
        discussion: """
            It reads /metrics once a second, from the server at --url, by default that of the configuration on this machine. \
            The bounds are those of the alerts, which docs/operations.md explains by name. With the server's data \
            directory and console.enabled it also shows all servers that share the Redis. Ctrl-C ends it.

            With --once, or if standard output is no terminal, it reads twice, prints one text and ends.

            Exit status: 0 if all is well, 1 if not, 2 if the server did not answer, 74 if the text could not be printed.

            EXAMPLES
              presenced top
              presenced top --url https://presence.example.org:4041
              presenced top --once || mail -s "presence" ops@example.org
            """)

    @Option(help: ArgumentHelp("The server, or its api.port (default: by the configuration).", valueName: "http://…"))
    var url: String?

    @OptionGroup var files: ServerFiles

    @Flag(help: "Print once and end.")
    var once = false

    func run() async throws {
        let configuration = try await StandardError.explaining(as: { _ in ExitStatus.couldNotLook }) {
            try files.sources().read()
        }
        let reader = TopReader(
            url ?? Self.place(of: configuration), secretIn: url == nil ? configuration.dataPath : files.dataDir)
        var board = TopBoard(TopRow.all(outboxBytes: configuration.limits.outboxBytes))
        let isLive = !once && isatty(STDOUT_FILENO) == 1
        if isLive { try await refresh(reader, &board) } else { try await printOnce(reader, &board) }
    }

    /// The address on this machine of the server with a configuration.
    static func place(of configuration: ServerConfiguration) -> String {
        let (host, port) =
            configuration.api.port.map { (configuration.api.host, $0) } ?? (configuration.host, configuration.port)
        let isSecure = configuration.api.port == nil ? configuration.tls.isOn : configuration.isAPISecure
        let name = ["0.0.0.0", "::", ""].contains(host) ? "127.0.0.1" : host
        return "\(isSecure ? "https" : "http")://\(name.contains(":") ? "[\(name)]" : name):\(port)"
    }

    private func printOnce(_ reader: TopReader, _ board: inout TopBoard) async throws {
        await reader.read(into: &board)
        if board.failure == nil {
            try await Task.sleep(for: .seconds(TopBoard.interval))
            await reader.read(into: &board)
        }
        let lines = board.lines(await reader.facts(board.version), width: 120, isColoured: false)
        try StandardOutput.print(lines.joined(separator: "\n"))
        if board.failure != nil { throw ExitCode(ExitStatus.couldNotLook) }
        // A value beyond its bound for one second is shown, and is no fault yet.
        if board.faults.contains(where: { $0.state == .bad }) { throw ExitCode(ExitStatus.failure) }
    }

    /// On the terminal's other screen, until a signal.
    private func refresh(_ reader: TopReader, _ board: inout TopBoard) async throws {
        let (turns, turn) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let signals = ProcessSignals([SIGINT, SIGTERM, SIGHUP]) { _ in turn.finish() }
        let ticker = Task {
            repeat { turn.yield() } while (try? await Task.sleep(for: .seconds(TopBoard.interval))) != nil
        }
        defer { ticker.cancel() }
        let isColoured = (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
        // Switch to the other screen and hide the cursor.
        var isWritten = StandardOutput.write("\u{1B}[?1049h\u{1B}[?25l")
        var facts = ""
        var count = 0
        for await _ in turns where isWritten {
            await reader.read(into: &board)
            if count.isMultiple(of: Self.factsEvery) { facts = await reader.facts(board.version) }
            count += 1
            let (width, height) = Self.size
            let lines = [reader.place, ""] + board.lines(facts, width: width, isColoured: isColoured)
            let text = lines.prefix(height - 1).map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
            isWritten = StandardOutput.write("\u{1B}[H" + text + "\u{1B}[J")
            if !isWritten { turn.finish() }
        }
        _ = StandardOutput.write("\u{1B}[?25h\u{1B}[?1049l")
        withExtendedLifetime(signals) {}
        if !isWritten { throw ExitCode(ExitStatus.outputLost) }
    }

    /// Readings between two requests about all servers.
    private static let factsEvery = 10

    private static var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), max(3, Int(size.ws_row)))
    }
}
