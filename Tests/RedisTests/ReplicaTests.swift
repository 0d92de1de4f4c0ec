import EventLoops
import Expectations
import Glibc
import TestSupport
import Testing

@testable import Redis

/// Changes that replicas must have, with a replica that works, hangs, or never existed.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ReplicaTests {
    /// In ms. Tests whose changes wait for an event do not depend on scheduling.
    private static let long: Int64 = 240_000
    let server: RedisServer
    let replica: RedisServer
    private static let script = RedisScript(name: "append", source: "return redis.call('RPUSH', KEYS[1], ARGV[1])")

    init() throws {
        server = try RedisServer(["--repl-diskless-sync-delay", "0"])
        replica = try RedisServer(["--replicaof", "127.0.0.1 \(server.port)"])
        let admin = try server.admin()
        while try admin.command("INFO", "replication").string?.contains("state=online") != true {}
    }

    private func waitsSent() throws -> Int {
        let line = try server.admin().command("INFO", "commandstats").string?.split(whereSeparator: \.isNewline)
            .first { $0.hasPrefix("cmdstat_wait:calls=") }
        return line.flatMap { Int($0.dropFirst(19).prefix { $0 != "," }) } ?? 0
    }

    @Test func `a change is answered once the replica has it, also when Redis did not know the script`() async throws {
        try await ReplicatedClient.with(server.unix) { client in
            await expect(client.change(Self.script), equals: [.success(.integer(1))])
            try expect(replica.admin().command("LLEN", "list").int, equals: 1)
            try server.admin().command("SCRIPT", "FLUSH")
            await expect(client.change(Self.script), equals: [.success(.integer(2))])
            try expect(replica.admin().command("LLEN", "list").int, equals: 2)
        }
    }

    @Test func `changes of one turn share one WAIT`() async throws {
        try await ReplicatedClient.with(server.unix) { client in
            _ = await client.change(Self.script)
            let before = try waitsSent()
            let answers = await client.change(Self.script, times: 500)
            expect(answers, equals: (2...501).map { .success(.integer($0)) })
            // Their answers may arrive in more than one piece.
            try expect(waitsSent() - before <= 5)
        }
    }

    @Test func `a replica that hangs makes changes unknown in time, and holds up nothing else`() async throws {
        try await ReplicatedClient.with(server.unix, patience: 5_000) { client in
            replica.pause()
            let waves = await client.twoWaves(Self.script, of: 20)
            // Nothing stands behind a WAIT.
            expect(waves.length, equals: .success(.integer(40)))
            expect(waves.took < 2_500)
            expect(waves.changes, equals: Array(repeating: .failure(.timedOut(sent: true)), count: 40))
            await expect(client.unconfirmed, equals: 0)
            replica.resume()
            while await client.change(Self.script) == [.failure(.timedOut(sent: true))] {}
            await expect(client.change(Self.script).first?.value != nil)
        }
    }

    @Test func `a waiting change is confirmed when the replica resumes`() async throws {
        try await ReplicatedClient.with(server.unix, patience: Self.long) { client in
            replica.pause()
            async let first = client.change(Self.script)
            await client.gather(1)
            async let second = client.change(Self.script)
            await client.gather(2)
            replica.resume()
            await expect(first, equals: [.success(.integer(1))])
            await expect(second, equals: [.success(.integer(2))])
        }
    }

    @Test func `pending changes are unknown when their connection breaks, and the next is confirmed`() async throws {
        try await ReplicatedClient.with(server.unix, patience: Self.long) { client in
            replica.pause()
            async let lost = client.change(Self.script)
            await client.gather(1)
            await client.dropWaits()
            await expect(lost, equals: [.failure(.timedOut(sent: true))])
            replica.resume()
            await expect(client.change(Self.script), equals: [.success(.integer(2))])
        }
    }

    @Test func `without a way to ask replicas, a change is not made`() async throws {
        try server.admin().command("ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-wait")
        var endpoint = server.unix
        (endpoint.user, endpoint.password) = ("ann", "pw")
        try await ReplicatedClient.with(endpoint) { client in
            await expect(client.change(Self.script), equals: [.failure(.timedOut(sent: true))])
            server.pause()
            async let none = client.dropWaits()
            while await client.change(Self.script) != [.failure(.disconnected(sent: false))] {}
            server.resume()
            await none
        }
    }

    @Test func `no other server confirms this one's changes`() async throws {
        try await ReplicatedClient.with(server.unix, patience: Self.long) { client in
            // Another server at the same address, while a connection to the old one stays open.
            let other = try RedisServer()
            try #require(rename(other.socketPath, server.socketPath) == 0)
            await client.dropWaits()
            await expect(client.breakReason().contains("another Redis process"))
            await client.changesReady()
            await expect(client.send("LLEN", "list"), equals: .success(.integer(0)))
        }
    }
}
