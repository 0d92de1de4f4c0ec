import EventLoops
import Expectations
import TestSupport
import Testing

@testable import Redis

@Suite(.serialized, .timeLimit(.minutes(1)))
struct CommandTests {
    let server: RedisServer

    init() throws { server = try RedisServer() }

    @Test func `every kind of answer arrives`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            await expect(client.send("SET", "key", .bytes([0, 13, 10, 255])), equals: .success(.status("OK")))
            await expect(client.send("GET", "key"), equals: .success(.bytes([0, 13, 10, 255])))
            await expect(client.send("GET", "nothing"), equals: .success(.null))
            await expect(client.send("INCRBY", "n", -5), equals: .success(.integer(-5)))
            await expect(client.send("RPUSH", "list", "a", "", "c").value?.int, equals: 3)
            let list = await client.send("LRANGE", "list", 0, -1).value?.array
            expect(list?.map(\.string), equals: ["a", "", "c"])
            await expect(client.send("LRANGE", "none", 0, -1), equals: .success(.array([])))
        }
    }

    @Test func `arrays seven deep arrive, deeper ones break the connection with a reason`() async throws {
        try await Client.with(server.tcp) { client in
            await client.ready()
            var expected = RedisValue.integer(1)
            for _ in 0..<7 { expected = .array([expected, .error("ERR inside")]) }
            let nest = """
                local v = 1
                for _ = 1, tonumber(ARGV[1]) do v = {v, redis.error_reply('ERR inside')} end
                return v
                """
            await expect(client.send("EVAL", .string(nest), 0, 7), equals: .success(expected))
            await expect(client.send("EVAL", .string(nest), 0, 9), equals: .failure(.disconnected(sent: true)))
            await expect(client.breakReason().contains("nested multi bulk"))
            await client.ready()
        }
    }

    @Test func `megabytes go there and back`() async throws {
        try await Client.with(server.tcp) { client in
            await client.ready()
            let big = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            await expect(client.send("SET", "big", .bytes(big)).value, equals: .status("OK"))
            await expect(client.send("GET", "big").value, equals: .bytes(big))
        }
    }

    @Test(arguments: [false, true])
    func `100,000 pipelined commands are answered in their order`(overTCP: Bool) async throws {
        try await Client.with(overTCP ? server.tcp : server.unix) { client in
            await client.ready()
            let isInOrder = await client.wait { (connection, done: @escaping (Bool) -> Void) in
                var expected: Int64 = 0
                var isInOrder = true
                for _ in 0..<100_000 {
                    connection.send(["INCR", "counter"]) { answer in
                        expected += 1
                        isInOrder = isInOrder && answer.value == .integer(expected)
                        if expected == 100_000 { done(isInOrder) }
                    }
                }
            }
            expect(isInOrder)
            await expect(client.onLoop { $0.pending }, equals: 0)
        }
    }

    @Test func `errors are distinguished by their code`() async throws {
        let admin = try server.admin()
        try await Client.with(server.unix) { client in
            await client.ready()
            await expect(client.send("NOSUCH").failure?.code, equals: "ERR")
            await _ = client.send("SET", "text", "x")
            await expect(client.send("LPUSH", "text", 1).failure?.code, equals: "WRONGTYPE")
            let fenced = await client.send("EVAL", "return redis.error_reply('FENCED by another')", 0)
            expect(fenced, equals: .failure(.server(code: "FENCED", message: "FENCED by another")))

            try admin.command("CONFIG", "SET", "maxmemory", 1)
            await expect(client.send("SET", "more", 1).failure?.code, equals: "OOM")
            try admin.command("CONFIG", "SET", "maxmemory", 0)

            try admin.command("REPLICAOF", "127.0.0.1", 1)
            await expect(client.send("SET", "more", 1).failure?.code, equals: "READONLY")
            try admin.command("REPLICAOF", "NO", "ONE")
            // A replica rejects writes: the client determines the master again.
            await client.ready()
            await expect(client.send("SET", "more", 1).value, equals: .status("OK"))
        }
    }

    @Test func `one command more than may wait is refused, not sent`() async throws {
        try await Client.with(server.unix, .with { $0.maximumPending = 3 }) { client in
            await client.ready()
            let answers = await client.wait { (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                for _ in 0..<4 {
                    connection.send(["INCR", "n"]) {
                        answers.append($0); if answers.count == 4 { done(answers) }
                    }
                }
                expect(connection.pending, equals: 3)
                expect(answers.isEmpty, "no reply from within send")
            }
            expect(
                Set(answers),
                equals: [1, 2, 3].reduce(into: [.failure(.overloaded)]) { $0.insert(.success(.integer($1))) })
            await expect(client.send("GET", "n").value?.int, equals: 3)
        }
    }

    @Test func `a reply may send, and a command of a late hook leaves in the same wake-up`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let answer = await client.wait { (connection, done: @escaping (Answer) -> Void) in
                connection.send(["SET", "a", 1]) { _ in connection.send(["INCR", "a"], reply: done) }
            }
            expect(answer, equals: .success(.integer(2)))

            // Registered after the connection's own hook, so it runs when that has written already.
            let loop = client.loop
            let late = await client.wait { (connection, done: @escaping (Answer) -> Void) in
                var hook: EndOfTurnHook?
                hook = loop.atEndOfTurn {
                    hook?.cancel()
                    connection.send(["INCR", "a"], reply: done)
                }
            }
            expect(late, equals: .success(.integer(3)))
        }
    }

    @Test func `round trips and the oldest pending command are measured`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let loop = client.loop
            let times = await client.wait { (connection, done: @escaping ([Int64]) -> Void) in
                var times: [Int64] = []
                connection.onRoundTrip = { times.append($0) }
                expect(connection.oldestPendingSince, equals: nil)
                connection.send(["PING"]) { _ in }
                connection.send(["PING"]) { _ in done(times) }
                expect(connection.oldestPendingSince, equals: loop.now)
            }
            expect(times.count, equals: 2)
            expect(times.allSatisfy { (0..<10_000_000).contains($0) })
            await expect(client.onLoop { $0.oldestPendingSince }, equals: nil)
        }
    }

    @Test func `closing fails pending commands before it returns, and no callback follows`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let answers = await client.onLoop { connection in
                var answers: [Answer] = []
                connection.onState = { _ in Issue.record("no state after close()") }
                connection.send(["PING"]) { answers.append($0) }
                connection.send(["PING"]) { answers.append($0) }
                connection.close()
                connection.close()
                return answers
            }
            expect(answers, equals: [.failure(.disconnected(sent: false)), .failure(.disconnected(sent: false))])
            await expect(client.send("PING"), equals: .failure(.disconnected(sent: false)))
            await expect(client.onLoop { $0.state }, equals: .closed)
        }
    }

    @Test func `a reply may close the connection, and the next ones fail`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let answers = await client.wait { (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                connection.send(["INCR", "n"]) { answer in
                    connection.close()
                    answers.append(answer)
                    done(answers)
                }
                connection.send(["INCR", "n"]) { answers.append($0) }
            }
            expect(answers, equals: [.failure(.disconnected(sent: true)), .success(.integer(1))])
        }
    }
}
