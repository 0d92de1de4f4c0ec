import Expectations
import Foundation
import PresenceKit
import TestSupport
import Testing

/// The live table in a real terminal, with a real server.
@Suite(.timeLimit(.minutes(2)))
struct TableProcessTests {
    private func terminal(
        _ server: Server, _ users: String..., width: Int = 100, height: Int = 8
    ) async throws -> PseudoTerminal {
        let environment = ["PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token("viewer")]
        return try PseudoTerminal(width: width, height: height, users, environment: environment)
    }

    private func expectRestored(_ terminal: PseudoTerminal) async throws {
        // The last output may still be in flight.
        let picture = try await terminal.until("the former screen") { !$0.isAlternate && !$0.isCursorHidden }
        expect(picture.main, equals: "")
        expect(terminal.isAsBefore)
    }

    @Test func `it follows users, a lost server, a new size, and ends with q`() async throws {
        let server = try await Server()
        let ana = try await server.client("ana", .desktop)
        try await ana.updateProfile(displayName: "Ana Silva")
        try await ana.setStatus(.busy, text: "In a meeting")

        let terminal = try await terminal(server, "ana", "bob")
        var picture = try await terminal.until("Ana") { $0.text.contains("⊖ Ana Silva") }
        expect(picture.isAlternate && picture.isCursorHidden && !terminal.isAsBefore)
        expect(picture.lines[1]?.contains("2 people, 1 here"), equals: true)
        expect(picture.lines[1]?.contains("● live from 127.0.0.1"), equals: true)
        expect(picture.lines[3]?.contains("In a meeting"), equals: true)
        expect(picture.lines[3]?.contains("desktop"), equals: true)
        expect(picture.lines[4]?.contains("○ bob"), equals: true)

        // A change, and how long it took.
        let bob = try await server.client("bob")
        picture = try await terminal.until("Bob has come") { $0.lines[3]?.contains("● bob") == true }
        expect(picture.lines[8]?.contains("newest change: bob, took "), equals: true)
        // Time passes.
        try await terminal.until("a tick") { $0.lines[3]?.contains(/for [1-9]/) == true }

        terminal.resize(width: 24, height: 3)
        picture = try await terminal.until("a small table") { $0.lines[1]?.hasPrefix("● live") == true }
        expect(picture.lines.keys.max(), equals: 3)
        terminal.resize(width: 120, height: 8)
        try await terminal.until("a large table") { $0.lines[2]?.contains("DELAY") == true }

        server.kill()
        picture = try await terminal.until("reconnecting") { $0.lines[1]?.contains("◌ reconnecting") == true }
        expect(picture.lines[1]?.contains("2 were here"), equals: true)
        try await terminal.until("dots that claim nothing") { $0.text.contains("◌ bob") && !$0.text.contains("●") }
        try await server.start()
        try await terminal.until("live again") { $0.lines[1]?.contains("● live") == true && !$0.text.contains("◌") }

        terminal.press("q")
        try await expect(Patience.end(of: terminal.watcher), equals: 0)
        try await expectRestored(terminal)
        await ana.disconnect()
        await bob.disconnect()
    }

    @Test func `more users than lines can be scrolled with keys`() async throws {
        let server = try await Server()
        let terminal = try await terminal(server, "a", "b", "c", "d", "e", "f", "g", "h", height: 6)
        try await terminal.until("the first page") { $0.text.contains("○ c") && $0.text.contains("1–3 of 8") }
        terminal.press("j")
        try await terminal.until("a line further") { $0.text.contains("○ d") && $0.text.contains("2–4 of 8") }
        terminal.press("\u{1B}[F")
        try await terminal.until("the end") { $0.text.contains("○ h") && $0.text.contains("6–8 of 8") }
        terminal.press("\u{1B}[5~")
        try await terminal.until("a page back") { $0.text.contains("4–6 of 8") }
    }

    @Test func `Ctrl-C ends it like q`() async throws {
        let server = try await Server()
        let terminal = try await terminal(server, "ana")
        try await terminal.until("a table") { $0.text.contains("○ ana") }
        terminal.press("\u{3}")
        try await expect(Patience.end(of: terminal.watcher), equals: 0)
        try await expectRestored(terminal)
    }

    @Test(arguments: [SIGTERM, SIGQUIT, SIGSEGV])
    func `a signal ends it, and the terminal is restored`(_ signal: Int32) async throws {
        let server = try await Server()
        let terminal = try await terminal(server, "ana")
        try await terminal.until("a table") { $0.text.contains("○ ana") }
        terminal.watcher.signal(signal)
        try await expect(Patience.end(of: terminal.watcher), equals: 128 + signal)
        try await expectRestored(terminal)
    }

    @Test func `Ctrl-Z releases the terminal until it is resumed`() async throws {
        let server = try await Server()
        let terminal = try await terminal(server, "ana")
        try await terminal.until("a table") { $0.text.contains("○ ana") }
        terminal.press("\u{1A}")
        try await expectRestored(terminal)
        while try !String(contentsOfFile: "/proc/\(terminal.watcher.id)/stat", encoding: .utf8).contains(") T ") {
            try await Task.sleep(for: .milliseconds(5))
        }
        terminal.watcher.signal(SIGCONT)
        try await terminal.until("the table again") { $0.isAlternate && $0.text.contains("○ ana") }
        expect(!terminal.isAsBefore)
        terminal.press("q")
        try await expect(Patience.end(of: terminal.watcher), equals: 0)
        try await expectRestored(terminal)
    }

    @Test func `a failure restores the terminal before it is printed`() async throws {
        let environment = ["PRESENCE_URL": "ws://127.0.0.1:\(try FreePort.find())", "PRESENCE_TOKEN": "x"]
        let terminal = try PseudoTerminal(width: 80, height: 10, ["ana"], environment: environment)
        try await expect(Patience.end(of: terminal.watcher), equals: 69)
        let picture = try await terminal.until("a sentence") { $0.main.hasSuffix("\r\n") }
        expect(picture.main.hasPrefix("presence-watch: no connection to 127.0.0.1:"))
        expect(terminal.isAsBefore)
    }

    @Test func `NO_COLOR means plain lines on a terminal too`() async throws {
        let server = try await Server()
        let environment = [
            "PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token("viewer"), "NO_COLOR": "1",
        ]
        let terminal = try PseudoTerminal(width: 80, height: 10, ["ana"], environment: environment)
        let picture = try await terminal.until("a line") { $0.main.contains("ana  offline, never seen") }
        expect(!picture.isAlternate)
        expect(picture.main.contains("  live from 127.0.0.1:"))
    }
}
