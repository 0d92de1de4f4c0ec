import Expectations
import Foundation
import PresenceKit
import TestSupport
import Testing

/// The command as scripts run it, with a real server.
@Suite(.timeLimit(.minutes(2)))
struct CommandTests {
    private func watch(
        _ server: Server?, _ arguments: String..., token: String? = nil
    ) async throws -> Programs.Result {
        var environment: [String: String] = [:]
        if let server {
            environment["PRESENCE_URL"] = server.url
            let usual = try await server.token("viewer")
            environment["PRESENCE_TOKEN"] = token ?? usual
        }
        return try await Programs.run([Programs.watch] + arguments, environment: environment)
    }

    @Test func `once prints all users, as a table and as JSON`() async throws {
        let server = try await Server()
        let ana = try await server.client("ana")
        try await ana.updateProfile(displayName: "Ana Silva")
        let room = try await ana.createConversation(with: ["viewer"])
        ana.startTyping(in: room.id)

        let table = try await watch(server, "--once", "bob", "ana", "--conversation", room.id)
        expect(table.status == 0 && table.complaints == "")
        expect(table.output.count, equals: 2)
        expect(table.output[0].hasPrefix("● Ana Silva  ana  online "))
        expect(table.output[0].contains("typing…"))
        expect(table.output[1].hasPrefix("○ bob"))
        expect(!table.output.joined().contains("\u{1B}"))

        let json = try await watch(server, "--once", "--json", "bob", "ana", "--conversation", room.id)
        expect(json.status, equals: 0)
        let objects = try json.output.map {
            try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        expect(objects.map { $0["type"] as? String }, equals: ["person", "person", "typing"])
        expect(objects[0]["user"] as? String, equals: "bob")
        expect(objects[0]["found"] as? Bool, equals: false)
        expect(objects[1]["displayName"] as? String, equals: "Ana Silva")
        expect(objects[1]["live"] as? Bool, equals: true)
        expect(objects[2]["users"] as? [String], equals: ["ana"])
        await ana.disconnect()
    }

    @Test func `JSON is one line for each change, and a reader that exits ends it quietly`() async throws {
        let server = try await Server()
        let environment = ["PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token("viewer")]
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let place = try TemporaryDirectory()
        // The reader exits after the first line in which Ana is online; after that there is no more output.
        let script = #"{ "$@"; echo "ended: $?" >&2; } | sed -u '/online/q'"#
        let process = try ChildProcess(
            ["sh", "-c", script, "sh", Programs.watch, "--json", "ana"], environment: environment,
            complaints: place.file("stderr")
        ) { line in
            if let line { continuation.yield(line) } else { continuation.finish() }
        }
        var seen: [String] = []
        var ana: PresenceClient?
        for await line in lines {
            seen.append(line)
            if line.contains(#""status":"offline""#) { ana = try await server.client("ana") }
        }
        expect(seen.contains(#"{"state":"live","type":"connection"}"#))
        expect(seen.last?.contains(#""devices":["phone"]"#), equals: true)
        expect(seen.last?.contains(#""latency":"#), equals: true)
        try await expect(Patience.end(of: process), equals: 0)
        try expect(String(contentsOfFile: place.file("stderr"), encoding: .utf8), equals: "ended: 0\n")
        await ana?.disconnect()
    }

    @Test func `an error is one sentence and a status`() async throws {
        let server = try await Server()
        let port = try FreePort.find()
        let token = try await server.token("viewer")
        func run(
            _ arguments: String..., token: String = token, url: String? = nil, fails status: Int32, _ sentence: String
        ) async throws {
            let environment = ["PRESENCE_URL": url ?? server.url, "PRESENCE_TOKEN": token]
            let result = try await Programs.run([Programs.watch] + arguments, environment: environment)
            expect(result.status, equals: status, "\(arguments)")
            expect(result.complaints.hasPrefix("presence-watch: \(sentence)"), "\(result.complaints)")
            expect(result.complaints.split(separator: "\n").count, equals: 1)
        }
        try await run("ana", url: "ws://127.0.0.1:\(port)", fails: 69, "no connection to 127.0.0.1:\(port): ")
        try await run("ana", token: "not.a.token", fails: 77, "the server refused the token: ")
        let forged = String(token.dropLast(8)) + "AAAAAAAA"
        try await run(
            "ana", token: forged, fails: 77, "the server refused the token: the token's signature is wrong")
        try await run(
            "ana", url: "wss://127.0.0.1:\(server.port)", fails: 69,
            "no connection to 127.0.0.1:\(server.port): no TLS handshake: the port may be for plain ws")
        try await run("a b", fails: 64, "\"a b\" is not the id of a user")
        try await run("ana", "--url", "http://x", fails: 64, "http://x is not the address of a server")
        try await run("ana", token: "", fails: 64, "a token is needed: ")
        try await run("ana", "--token-file", "/nonexistent", fails: 64, "the token file /nonexistent cannot be read")
        try await run("ana", "--conversation", "c1", fails: 77, "c1 is not a conversation that you take part in")
        try await run(
            "--once", "ana", "--conversation", "c1", fails: 77, "c1 is not a conversation that you take part in")
    }

    @Test func `each program prints its version, which is the server's`() async throws {
        var versions: [String] = []
        for program in [Programs.presenced, Programs.watch, Programs.chat] {
            versions += try await Programs.run([program, "--version"]).output
        }
        let version = try #require(versions[0].split(separator: " ").last)
        expect(versions, equals: ["presenced", "presence-watch", "presence-chat"].map { "\($0) \(version)" })
    }

    @Test func `a proxy's 403 to the upgrade of a former connection does not end it`() async throws {
        let server = try await Server()
        let proxy = try RefusingProxy(to: server.port)
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let environment = [
            "PRESENCE_URL": "ws://127.0.0.1:\(proxy.port)", "PRESENCE_TOKEN": try await server.token("viewer"),
        ]
        let process = try ChildProcess([Programs.watch, "--json", "ana"], environment: environment) { line in
            if let line { continuation.yield(line) } else { continuation.finish() }
        }
        var hasLived = false
        for await line in lines where line.contains(#""type":"connection""#) {
            if line.contains(#""state":"live""#) {
                if hasLived { break }
                hasLived = true
                proxy.refuseOnce()
            }
        }
        process.signal(SIGINT)
        try await expect(Patience.end(of: process) == 128 + SIGINT && proxy.refusals == 1)
    }

    @Test func `an expired token ends it`() async throws {
        let server = try await Server()
        let expired = try await watch(server, "ana", token: try await server.token("viewer", expires: "20s"))
        expect(expired.status, equals: 77)
        expect(expired.complaints.hasPrefix("presence-watch: the token expired; "))
    }

    @Test func `a token that is renewed in its file in time lets it continue`() async throws {
        let server = try await Server()
        let file = server.directory.file("token")
        let renewed = try await server.token("viewer")
        try await server.token("viewer", expires: "20s").write(toFile: file, atomically: true, encoding: .utf8)
        let expiry = ContinuousClock.now + .seconds(20)
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let process = try ChildProcess(
            [Programs.watch, "--url", server.url, "--token-file", file, "--json", "ana"]
        ) { line in
            if let line { continuation.yield(line) } else { continuation.finish() }
        }
        var ana: PresenceClient?
        for await line in lines {
            if line.contains(#""found":false"#) {
                try renewed.write(toFile: file, atomically: true, encoding: .utf8)
                // A token only expires with time.
                try await Task.sleep(until: expiry + .milliseconds(500))
                ana = try await server.client("ana")
            } else if line.contains(#""live":true"#), line.contains(#""status":"online""#) {
                process.signal(SIGTERM)
            }
        }
        expect(ana != nil)
        let status = try await Patience.end(of: process)
        expect(status, equals: 128 + SIGTERM)
        await ana?.disconnect()
    }

    @Test(arguments: [["--once"], ["--once", "--json"], ["--json"]], [">/dev/full", ">&-"])
    func `a failed output is no success`(flags: [String], output: String) async throws {
        let server = try await Server()
        let environment = ["PRESENCE_URL": server.url, "PRESENCE_TOKEN": try await server.token("viewer")]
        let lost = try await Programs.run(
            ["sh", "-c", #""$@" "# + output + "; exit $?", "sh", Programs.watch] + flags + ["ana"],
            environment: environment)
        expect(lost.status, equals: 74)
        expect(lost.complaints, equals: "presence-watch: standard output cannot be written\n")
    }

    @Test func `a wrong flag is reported with the usage`() async throws {
        let result = try await watch(nil, "--wrong", "ana")
        expect(result.status, equals: 64)
        expect(result.complaints.contains("--wrong"))
    }
}
