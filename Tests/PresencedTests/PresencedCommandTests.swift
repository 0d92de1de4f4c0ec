import ArgumentParser
import Expectations
import Foundation
import Testing

@testable import presenced

/// The command as a user runs it: real processes, each with a Redis of its own.
@Suite(.serialized) struct PresencedCommandTests {
    private func serve(_ scratch: DataScratch, _ further: [String] = []) throws -> PresencedProcess {
        try PresencedProcess(["serve", "--port", "0", "--shards", "1", "--data-dir", scratch.path] + further)
    }

    /// Waits until no process runs in the directory.
    private func gone(_ scratch: DataScratch) async -> Bool {
        for _ in 0..<2_000 {
            if scratch.processes.isEmpty { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
    }

    @Test func `the help of each command has an example`() {
        func look(at command: any ParsableCommand.Type, _ words: String) {
            let help = command.helpMessage()
            expect(help.contains("EXAMPLES\n  \(words)"), "\(help)")
            for next in command.configuration.subcommands { look(at: next, "\(words) \(next._commandName)") }
        }
        for command in Presenced.configuration.subcommands { look(at: command, "presenced \(command._commandName)") }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `it prints one line, serves, and exits cleanly`(number: Int32) async throws {
        let scratch = try DataScratch()
        let server = try serve(scratch)
        let line = try #require(server.line())
        expect(line.wholeMatch(of: /listening on ws:\/\/127\.0\.0\.1:[0-9]+\/v1\/ws/) != nil)
        expect(scratch.processes.count, equals: 1)
        server.signal(number)
        let (status, output, errors) = server.end()
        expect(status == 0 && output == "", "\(errors)")
        expect(scratch.processes.isEmpty)
    }

    @Test func `its Redis ends with it, whatever ends it, and the next start can use the directory`() async throws {
        let scratch = try DataScratch()
        do {
            let server = try serve(scratch)
            _ = server.line()
            expect(scratch.processes.count, equals: 1)
            server.signal(SIGKILL)
            _ = server.end()
        }
        await expect(gone(scratch))
        let server = try serve(scratch)
        expect(server.line() != nil)
        server.signal(SIGTERM)
        expect(server.end().status, equals: 0)
    }

    @Test func `a second server on the same directory fails, and names the first`() async throws {
        let scratch = try DataScratch()
        let server = try serve(scratch)
        _ = server.line()
        let (status, output, errors) = try serve(scratch).end()
        expect(status == 1 && output == "")
        expect(errors.contains(scratch.path) && errors.contains("process \(server.process.processIdentifier)"))
        expect(scratch.processes.count, equals: 1)
        // With a configured Redis they may share it.
        let other = try serve(scratch, ["--redis", "unix://\(scratch.path)/redis.sock"])
        expect(other.line() != nil)
        for each in [other, server] {
            each.signal(SIGTERM)
            expect(each.end().status, equals: 0)
        }
    }

    @Test func `a start on a taken port fails and leaves nothing behind`() async throws {
        let (scratch, another) = (try DataScratch(), try DataScratch())
        let server = try serve(scratch)
        let port = try #require(server.line()?.split(separator: ":").last?.split(separator: "/").first)
        let (status, output, errors) = try PresencedProcess.run(
            "serve", "--port", String(port), "--data-dir", another.path)
        expect(status == 1 && output == "" && errors.contains(port))
        expect(another.processes.isEmpty)
    }

    @Test func `a signal during the start ends it, too`() async throws {
        let scratch = try DataScratch()
        let server = try serve(scratch)
        // As early as its Redis exists, which is before it accepts connections.
        while scratch.processes.isEmpty, server.process.isRunning {}
        server.signal(SIGTERM)
        expect(server.end().status, equals: 0)
        await expect(gone(scratch))
    }

    @Test func `only the token is printed, and it is valid before the first start and after it`() async throws {
        let scratch = try DataScratch()
        let (status, output, errors) = try PresencedProcess.run(
            "token", "ana", "--data-dir", scratch.path, "--expires", "3s")
        expect(status, equals: 0)
        expect(output.wholeMatch(of: /[\w-]+\.[\w-]+\.[\w-]+\n/) != nil)
        // A mistyped directory looks the same, so the new secret is reported.
        expect(errors.contains("made a new secret, \(scratch.path)/secret;"), "\(errors)")
        let secret = try String(contentsOfFile: scratch.path + "/secret", encoding: .utf8)
        let again = try PresencedProcess.run("token", "ana", environment: ["PRESENCE_DATA_DIRECTORY": scratch.path])
        expect(again.status == 0 && again.errors == "")
        try expect(String(contentsOfFile: scratch.path + "/secret", encoding: .utf8), equals: secret)
    }

    @Test(
        arguments: [
            (["serve", "--prot", "1"], 64, "--prot"), (["serve", "--port", "many"], 64, "--port"),
            (["nonsense"], 64, "nonsense"),
            (["serve", "--shards", "0"], 64, "--shards"), (["serve", "--port", "70000"], 78, "--port"),
            (["serve", "--config", "/nowhere.yaml"], 78, "/nowhere.yaml"),
            (["serve", "--log-level", "loud"], 78, "--log-level"),
            (["serve", "--redis", "http://x"], 78, "--redis"), (["token"], 64, "<user>"),
            (["token", "a b"], 64, "user"),
            (["token", "jos\u{E9}"], 64, "user"), (["token", "ana", "--expires", "3"], 64, "--expires"),
            (["token", "ana", "--expires", "0s"], 64, "--expires"), (["token", "ana", "--role", "king"], 64, "--role"),
            (["token", "ana", "--data-dir", "/dev/null/x"], 1, "/dev/null/x"),
        ] as [([String], Int32, String)])
    func `a mistake causes an error with its own status`(arguments: [String], status: Int32, named: String)
        throws
    {
        let scratch = try DataScratch()
        let isServe = arguments[0] == "serve"
        let ended = try PresencedProcess(arguments + (isServe ? ["--data-dir", scratch.path] : [])).end()
        expect(ended.status == status && ended.output == "")
        expect(ended.errors.contains(named), "\(ended.errors)")
    }

    @Test(
        arguments: [
            (["--help"], 74), (["--version"], 74), (["token", "ana"], 74), (["doctor"], 2), (["user", "list"], 1),
            (["mail"], 1), (["webhooks"], 1), (["user", "create", "a@example.org"], 1), (["nonsense"], 64),
            (["token"], 64), (["serve", "--shards", "0"], 64), (["serve", "--port", "70000"], 78),
        ] as [([String], Int32)])
    func `a command with a closed output exits cleanly, with its status`(arguments: [String], status: Int32) throws {
        let scratch = try DataScratch()
        let place = arguments[0].hasPrefix("-") || arguments == ["nonsense"] ? [] : ["--data-dir", scratch.path]
        let command = try PresencedProcess(arguments + place, isRead: false)
        command.process.waitUntilExit()
        expect(command.process.terminationReason == .exit && command.process.terminationStatus == status)
    }

    @Test(
        arguments: [
            (["toke", "ana"], #"presenced has no command "toke"; did you mean "token"?"#),
            (["sevre", "--accounts"], #"presenced has no command "sevre"; did you mean "serve"?"#),
            (["user", "lst"], #"presenced user has no command "lst"; did you mean "list"?"#),
            (
                ["start"],
                #"presenced has no command "start": there are serve, token, key, user, mail, webhooks, doctor, top"#
            ),
        ] as [([String], String)])
    func `an error about a mistyped command suggests the probable one`(
        arguments: [String], said: String
    ) throws {
        let ended = try PresencedProcess(arguments).end()
        expect(ended.status == 64 && ended.output == "" && ended.errors == "presenced: \(said)\n", "\(ended.errors)")
    }

    @Test func `webhooks reports that there is no endpoint`() throws {
        let scratch = try DataScratch()
        let server = try serve(scratch)
        _ = server.line()
        let ended = try PresencedProcess.run("webhooks", "--data-dir", scratch.path)
        expect(ended.status == 0 && ended.output == "" && ended.errors.contains("no endpoint"), "\(ended)")
        server.signal(SIGTERM)
        expect(server.end().status, equals: 0)
    }

    @Test func `an error about an unknown variable names it`() throws {
        let ended = try PresencedProcess.run("serve", environment: ["PRESENCE_PROT": "1"])
        expect(ended.status == 78 && ended.errors.contains("PRESENCE_PROT"))
    }
}
