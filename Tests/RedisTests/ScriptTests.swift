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
            #expect(await client.run(script, keys: ["list"], "a") == .success(.integer(1)))
            #expect(await client.run(script, keys: ["list"], "b") == .success(.integer(2)))
            try admin.command("SCRIPT", "FLUSH")
            #expect(await client.run(script, keys: ["list"], .bytes([0, 255])) == .success(.integer(3)))
        }
        let list = try admin.command("LRANGE", "list", 0, -1).array
        #expect(list?.map(\.bytes) == [Array("a".utf8), Array("b".utf8), [0, 255]])
        #expect(try admin.command("SCRIPT", "EXISTS", .string(script.sha1)) == .array([.integer(1)]))
    }

    @Test func `loaded scripts run by their digest`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let other = RedisScript(name: "other", source: "return 'other'")
            #expect(await client.load([script, other]).failureReason == nil)
            #expect(await client.send("EVALSHA", .string(other.sha1), 0).value?.string == "other")
            #expect(await client.run(script, keys: ["l"], "x").value?.int == 1)
        }
    }

    @Test func `a script that does not compile is named`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let broken = RedisScript(name: "broken", source: "return return")
            let failure = await client.load([script, broken, script]).failureReason
            #expect(failure?.code == "ERR")
            #expect("\(failure!)".contains("script broken: ERR Error compiling script"))
        }
    }

    @Test func `a script's own failure is not repeated`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let failing = RedisScript(
                name: "failing", source: "redis.call('INCR', KEYS[1]); return redis.error_reply('FENCED late')")
            #expect(await client.run(failing, keys: ["n"]).failure?.code == "FENCED")
            #expect(await client.send("GET", "n").value?.int == 1)
        }
    }

    @Test func `a change that the replicas do not confirm is of unknown outcome`() async throws {
        let replica = try RedisServer(["--replicaof", "127.0.0.1 \(server.port)"])
        let admin = try server.admin()
        while try admin.command("INFO", "replication").string?.contains("state=online") != true {}
        try await Client.with(server.unix) { client in
            await client.ready()
            #expect(await client.load([script]).failureReason == nil)
            func append(replicas: Int, patience: Int64) async -> Answer {
                await client.wait { [script] connection, done in
                    connection.run(
                        script, keys: ["list"], arguments: ["x"], replicas: replicas, patience: patience, reply: done)
                }
            }
            #expect(await append(replicas: 1, patience: 4_500) == .success(.integer(1)))
            let copied = try replica.admin().command("LLEN", "list")
            #expect(copied.int == 1)
            #expect(await append(replicas: 2, patience: 50) == .failure(.timedOut(sent: true)))
            #expect(try admin.command("LLEN", "list").int == 2)
        }
    }

    @Test func `loading without a connection fails once`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            await client.onLoop { $0.close() }
            #expect(await client.load([script, script]).failureReason == .disconnected(sent: false))
        }
    }
}

extension Result where Success == Void, Failure == RedisFailure {
    var failureReason: RedisFailure? { if case .failure(let failure) = self { failure } else { nil } }
}
