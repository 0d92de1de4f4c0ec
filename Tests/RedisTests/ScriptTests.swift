import Expectations
import Redis
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(1)))
struct ScriptTests {
    let server: RedisServer
    let script = RedisScript(
        name: "append", source: "redis.call('RPUSH', KEYS[1], ARGV[1]); return redis.call('LLEN', KEYS[1])")

    init() throws { server = try RedisServer() }

    @Test func `a script that Redis does not know runs once all the same`() async throws {
        let admin = try server.admin()
        try await Client.with(server.unix) { client in
            await client.ready()
            await expect(client.run(script, keys: ["list"], "a"), equals: .success(.integer(1)))
            await expect(client.run(script, keys: ["list"], "b"), equals: .success(.integer(2)))
            try admin.command("SCRIPT", "FLUSH")
            await expect(client.run(script, keys: ["list"], .bytes([0, 255])), equals: .success(.integer(3)))
        }
        let list = try admin.command("LRANGE", "list", 0, -1).array
        expect(list?.map(\.bytes), equals: [Array("a".utf8), Array("b".utf8), [0, 255]])
        try expect(admin.command("SCRIPT", "EXISTS", .string(script.sha1)), equals: .array([.integer(1)]))
    }

    @Test func `scripts run in the order in which they were given, also when Redis has forgotten them`() async throws {
        let admin = try server.admin()
        try await Client.with(server.unix) { client in
            await client.ready()
            await expect(client.run(script, keys: ["before"], "x"), equals: .success(.integer(1)))
            try admin.command("SCRIPT", "FLUSH")
            let answers = await client.wait { [script] (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                func append(_ word: RedisArgument) {
                    connection.run(script, keys: ["list"], arguments: [word]) {
                        answers.append($0)
                        if answers.count == 3 { done(answers) }
                    }
                }
                // The third is submitted after the first was rejected and before the second is: Redis waits between
                // them.
                append("first")
                connection.send(["PING"]) { _ in append("third") }
                connection.send(["BLPOP", "nothing", "0.2"]) { _ in }
                append("second")
            }
            expect(answers, equals: [1, 2, 3].map { .success(.integer($0)) })
        }
        let list = try admin.command("LRANGE", "list", 0, -1).array
        expect(list?.map(\.string), equals: ["first", "second", "third"])
    }

    @Test func `a script that Redis has forgotten is sent whole once, whatever is under way`() async throws {
        let admin = try server.admin()
        let other = RedisScript(name: "other", source: "return redis.call('RPUSH', KEYS[1], 'other')")
        try await Client.with(server.unix) { client in
            await client.ready()
            for script in [script, other] { _ = await client.run(script, keys: ["before"], "x") }
            try admin.command("SCRIPT", "FLUSH")
            try admin.command("CONFIG", "RESETSTAT")
            let answers = await client.wait { [script] (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                for number in 0..<100 {
                    connection.run(number % 2 == 0 ? script : other, keys: ["list"], arguments: ["own"]) {
                        answers.append($0)
                        if answers.count == 100 { done(answers) }
                    }
                }
            }
            expect(answers, equals: (1...100).map { .success(.integer($0)) })
        }
        let list = try admin.command("LRANGE", "list", 0, -1).array?.map(\.string)
        expect(list, equals: (0..<50).flatMap { _ in ["own", "other"] })
        try expect(admin.command("INFO", "commandstats").string?.contains("cmdstat_script|load:calls=2,"), equals: true)
    }

    @Test func `calls behind a forgotten script count, are bounded, and fail with the connection`() async throws {
        let admin = try server.admin()
        try await Client.with(server.unix, .with { $0.maximumPending = 4 }) { client in
            await client.ready()
            _ = await client.run(script, keys: ["before"], "x")
            try admin.command("SCRIPT", "FLUSH")
            let answers = await client.wait { [script] (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                func append() {
                    connection.run(script, keys: ["list"], arguments: ["x"]) {
                        answers.append($0)
                        if answers.count == 4 { done(answers) }
                    }
                }
                append()
                connection.send(["PING"]) { _ in
                    // Pending are the next command and the check whether all is answered.
                    let bytes = connection.pendingBytes
                    append()
                    append()
                    expect(connection.pending, equals: 4)
                    expect(connection.pendingBytes > bytes)
                    append()
                    connection.reconnect(reason: "told to")
                }
                // Never answered.
                connection.send(["BLPOP", "nothing", 0]) { _ in }
            }
            let unsent = Answer.failure(.disconnected(sent: false))
            expect(answers.filter { $0 == unsent }.count, equals: 3)
            expect(answers.filter { $0 == .failure(.overloaded) }.count, equals: 1)
            await client.ready()
            await expect(client.run(script, keys: ["list"], "y"), equals: .success(.integer(1)))
        }
    }

    @Test func `the first call on a connection sends the script whole, and the next ones do not`() async throws {
        let admin = try server.admin()
        try await Client.with(server.unix) { client in
            for connection in 1...2 {
                await client.ready()
                let answers = await client.wait { [script] (connection, done: @escaping ([Answer]) -> Void) in
                    var answers: [Answer] = []
                    for _ in 1...3 {
                        connection.run(script, keys: ["list"], arguments: ["x"]) {
                            answers.append($0)
                            if answers.count == 3 { done(answers) }
                        }
                    }
                }
                expect(answers, equals: (1...3).map { .success(.integer(3 * Int64(connection - 1) + $0)) })
                let statistics = try admin.command("INFO", "commandstats").string ?? ""
                expect(statistics.contains("cmdstat_script|load:calls=\(connection),"))
                expect(statistics.contains("cmdstat_evalsha:calls=\(3 * connection),"))
                await client.onLoop { $0.reconnect(reason: "told to") }
            }
        }
    }

    @Test func `first calls that a full Redis refuses are refused once each, and hold up no other`() async throws {
        let admin = try server.admin()
        try admin.command("CONFIG", "SET", "maxmemory", 1)
        let writing = RedisScript(name: "writing", source: "#!lua\nreturn redis.call('RPUSH', KEYS[1], 'x')")
        let reading = RedisScript(name: "reading", source: "#!lua flags=no-writes\nreturn redis.call('LLEN', KEYS[1])")
        try await Client.with(server.unix) { client in
            await client.ready()
            let answers = await client.wait { (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                for number in 1...101 {
                    connection.run(number <= 100 ? writing : reading, keys: ["list"]) {
                        answers.append($0)
                        if answers.count == 101 { done(answers) }
                    }
                }
            }
            expect(answers.prefix(100).allSatisfy { $0.failure?.code == "OOM" })
            expect(answers.last, equals: .success(.integer(0)))
        }
        let statistics = try admin.command("INFO", "commandstats").string ?? ""
        let line = statistics.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_evalsha:") }
        expect(line?.contains("calls=1,") == true && line?.contains("rejected_calls=100,") == true)
    }

    @Test func `a script that does not compile fails each of its calls, and no other`() async throws {
        let broken = RedisScript(name: "broken", source: "return return")
        try await Client.with(server.unix) { client in
            await client.ready()
            for _ in 1...2 {
                let failure = await client.run(broken, keys: ["list"]).failure
                expect("\(failure!)".contains("Error compiling script"))
            }
            await expect(client.run(script, keys: ["list"], "x"), equals: .success(.integer(1)))
        }
    }

    @Test func `a server that runs a long script is waited for`() async throws {
        let admin = try server.admin()
        try admin.command("CONFIG", "SET", "busy-reply-threshold", 1)
        let endless = try server.admin()
        try await Client.with(server.unix) { client in
            await client.ready()
            // It sends no commands: only its end matters.
            let ended = Task.detached { [endless = UncheckedBox(endless)] in
                _ = try? endless.value.command("EVAL", "while true do end", 0)
            }
            while await client.send("GET", "x").failure?.code != "BUSY" {}
            await client.onLoop { $0.reconnect(reason: "again") }
            await client.state { if case .disconnected(let reason) = $0 { reason.contains("BUSY") } else { false } }
            try admin.command("SCRIPT", "KILL")
            await client.ready()
            await ended.value
            await expect(client.run(script, keys: ["l"], "x").value?.int, equals: 1)
        }
    }

    @Test func `a script's own failure is not repeated`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let failing = RedisScript(
                name: "failing", source: "redis.call('INCR', KEYS[1]); return redis.error_reply('FENCED late')")
            await expect(client.run(failing, keys: ["n"]).failure?.code, equals: "FENCED")
            await expect(client.send("GET", "n").value?.int, equals: 1)
        }
    }
}

/// @unchecked: used by one task only.
struct UncheckedBox<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
