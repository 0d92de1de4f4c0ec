import Expectations
import Redis
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(1)))
struct BlockingRedisTests {
    let server: RedisServer

    init() throws { server = try RedisServer() }

    @Test func `commands, pipelines and scripts are answered`() throws {
        for endpoint in [server.unix, server.tcp] {
            let redis = try BlockingRedis(endpoint)
            try expect(redis.command("SET", "n", 1), equals: .status("OK"))
            let answers = try redis.pipeline((0..<1_000).map { _ in ["INCR", "n"] } + [["NOSUCH"]])
            expect(answers.dropLast().map(\.value?.int), equals: (2...1_001).map { $0 })
            expect(answers.last?.failure?.code, equals: "ERR")
            #expect(throws: RedisFailure.server(code: "ERR", message: "ERR syntax error")) {
                try redis.command("SET", "n", 1, "nonsense")
            }
            let script = RedisScript(name: "s", source: "return {KEYS[1], ARGV[1], redis.call('GET', 'n')}")
            try redis.command("SCRIPT", "FLUSH")
            try expect(redis.run(script, keys: ["k"], arguments: [7]).array?.map(\.string), equals: ["k", "7", "1001"])
            try expect(redis.run(script, keys: ["k"], arguments: [8]).array?.map(\.string), equals: ["k", "8", "1001"])
        }
    }

    @Test func `an answer with too many elements ends the connection`() throws {
        let redis = try BlockingRedis(server.unix)
        func answer(_ count: Int) throws -> Int? {
            try redis.command(
                "EVAL", "local t = {} for i = 1, tonumber(ARGV[1]) do t[i] = 1 end return t", 0, .init(count)
            ).array?.count
        }
        try expect(answer(1 << 20), equals: 1 << 20)
        #expect(throws: RedisFailure.self) { try answer((1 << 20) + 1) }
    }

    @Test func `it receives published messages`() throws {
        let redis = try server.admin()
        try redis.command("SUBSCRIBE", "a")
        try server.admin().command("PUBLISH", "a", "hello")
        try expect(redis.receive().array?.map(\.string), equals: ["message", "a", "hello"])
    }

    @Test func `no listener, a refusal and silence are different failures`() throws {
        try server.admin().command("CONFIG", "SET", "requirepass", "right")
        #expect { try BlockingRedis(server.unix) } throws: { "\($0)".contains("NOAUTH") }
        var endpoint = server.unix
        endpoint.password = "right"
        let redis = try BlockingRedis(endpoint, timeout: 50)
        server.pause()
        #expect(throws: RedisFailure.timedOut(sent: true)) { try redis.command("PING") }
        #expect(throws: RedisFailure.disconnected(sent: false)) { try redis.command("PING") }
        server.resume()
        server.kill()
        #expect { try BlockingRedis(endpoint) } throws: { error in
            if case .unreachable(let reason) = error as? RedisFailure { !reason.contains("right") } else { false }
        }
    }

    @Test func `writing to a server that has disconnected is a failure, not the end of the process`() throws {
        let redis = try BlockingRedis(server.tcp)
        server.kill()
        for _ in 0..<3 {
            #expect(throws: RedisFailure.self) {
                try redis.pipeline([["SET", "a", .bytes([UInt8](repeating: 0, count: 1 << 20))]])
            }
        }
    }
}
