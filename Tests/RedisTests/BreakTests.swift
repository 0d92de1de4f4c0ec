import EventLoops
import Expectations
import Glibc
import TestSupport
import Testing

@testable import Redis

@Suite(.serialized, .timeLimit(.minutes(1)))
struct BreakTests {
    let server: RedisServer

    init() throws { server = try RedisServer() }

    /// Returns when the server has a client that waits in BLPOP.
    private func waitForBlockedClient() async throws {
        let admin = try server.admin()
        try await waitUntil { try admin.command("INFO", "clients").string?.contains("blocked_clients:1") == true }
    }

    @Test(arguments: [false, true])
    func `sent commands fail as unknown when the server is killed, and it reconnects`(overTCP: Bool) async throws {
        try await Client.with(overTCP ? server.tcp : server.unix) { client in
            await client.ready()
            async let answer = client.send("BLPOP", "nothing", 0)
            try await waitForBlockedClient()
            server.kill()
            await expect(answer, equals: .failure(.disconnected(sent: true)))
            await expect(client.breakReason().contains(": "))
            await expect(client.send("PING"), equals: .failure(.disconnected(sent: false)))
            try server.start()
            await client.ready()
            await expect(client.send("PING").value, equals: .status("PONG"))
        }
    }

    @Test func `at a break the state changes, then pending commands fail, then the owner is notified`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let order = await client.wait { (connection, done: @escaping ([String]) -> Void) in
                var order: [String] = []
                connection.onState = { state in
                    guard state.isDisconnected else { return }
                    expect(connection.pending, equals: 0)
                    order.append("told")
                    done(order)
                }
                connection.send(["PING"]) { answer in
                    expect(answer, equals: .failure(.disconnected(sent: false)))
                    order.append(connection.state.isDisconnected ? "failed after" : "failed before")
                }
                connection.reconnect(reason: "told to")
            }
            expect(order, equals: ["failed after", "told"])
        }
    }

    @Test func `a reply may close the connection at a break, and the owner is not notified`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            await client.onLoop { connection in
                connection.onState = { _ in Issue.record("told after close()") }
                connection.send(["PING"]) { _ in connection.close() }
                connection.reconnect(reason: "told to")
                expect(connection.state, equals: .closed)
            }
        }
    }

    @Test func `reconnecting on demand makes a new connection`() async throws {
        try await Client.with(server.unix) { client in
            await client.ready()
            let first = await client.send("CLIENT", "ID").value?.int
            await client.onLoop { $0.reconnect(reason: "a canary died") }
            await expect(client.breakReason().hasSuffix(": a canary died"))
            await client.ready()
            await expect(client.send("CLIENT", "ID").value?.int != first)
        }
    }

    @Test func `a suspended server is dropped in time, and found when it resumes`() async throws {
        try await Client.with(
            server.unix,
            .with {
                $0.commandTimeout = 60; $0.connectTimeout = 60
            }
        ) { client in
            await client.ready()
            server.pause()
            async let first = client.send("INCR", "n")
            async let second = client.send("INCR", "n")
            await expect(first, equals: .failure(.timedOut(sent: true)))
            await expect(second, equals: .failure(.timedOut(sent: true)))
            let (silence, unready) = await (client.breakReason(), client.breakReason())
            expect(silence.contains("no answer within 60 ms"))
            expect(unready.contains("not ready within 60 ms"))
            server.resume()
            await client.ready()
            await expect(client.send("PING").value, equals: .status("PONG"))
        }
    }

    @Test func `commands that were still in our buffer count as not sent`() async throws {
        try await Client.with(server.tcp, .with { $0.commandTimeout = 200 }) { client in
            await client.ready()
            server.pause()
            let answers = await client.wait { (connection, done: @escaping ([Answer]) -> Void) in
                var answers: [Answer] = []
                for _ in 0..<40 {
                    connection.send(["SET", "big", .bytes([UInt8](repeating: 1, count: 1 << 20))]) {
                        answers.append($0)
                        if answers.count == 40 { done(answers) }
                    }
                }
            }
            server.resume()
            expect(answers.first, equals: .failure(.timedOut(sent: true)))
            expect(answers.last, equals: .failure(.timedOut(sent: false)))
        }
    }

    @Test func `after we stood still ourselves, the answers that wait are taken`() async throws {
        try await Client.with(server.unix, .with { $0.commandTimeout = 50 }) { client in
            await client.ready()
            let loop = client.loop
            let answer = await client.wait { (connection, done: @escaping (Answer) -> Void) in
                connection.onState = { _ in Issue.record("the connection was dropped") }
                let stall = LoopTimer(loop) { usleep(120_000) }
                connection.send(["PING"]) { answer in
                    stall.cancel()
                    done(answer)
                }
                // In the next turn: the command is sent, and its answer arrives during the stall.
                stall.set(after: 0)
            }
            expect(answer, equals: .success(.status("PONG")))
        }
    }

    @Test func `after the machine stood still, Redis has its time again`() async throws {
        try await Client.with(server.unix, .with { $0.commandTimeout = 400 }) { client in
            await client.ready()
            let (loop, redis) = (client.loop, server.pid)
            server.pause()
            let answer = await client.wait { (connection, done: @escaping (Answer) -> Void) in
                connection.onState = { _ in Issue.record("the connection was dropped") }
                let goesOn = LoopTimer(loop) { kill(redis, SIGCONT) }
                let stall = LoopTimer(loop) {
                    usleep(600_000)
                    goesOn.set(after: 100)
                }
                connection.send(["PING"]) { answer in
                    stall.cancel()
                    goesOn.cancel()
                    done(answer)
                }
                stall.set(after: 0)
            }
            expect(answer, equals: .success(.status("PONG")))
        }
    }

    @Test func `many breaks in a row leave nothing behind`() async throws {
        try await Client.with(server.unix) { client in
            let before = openFiles()
            for _ in 0..<50 {
                await client.ready()
                async let answer = client.send("BLPOP", "nothing", 0)
                await client.onLoop { $0.reconnect(reason: "again") }
                _ = await answer
            }
            await client.ready()
            expect(openFiles() - before < 40)
        }
    }

    private func openFiles() -> Int { (0..<4_096).count { fcntl(Int32($0), F_GETFD) >= 0 } }
}
