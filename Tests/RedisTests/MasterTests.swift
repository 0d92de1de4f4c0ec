import EventLoops
import Expectations
import TestSupport
import Testing

@testable import Redis

@Suite(.serialized, .timeLimit(.minutes(1)))
struct MasterTests {
    let older: RedisServer
    let newer: RedisServer

    init() throws {
        older = try RedisServer()
        newer = try RedisServer()
    }

    private func location(_ ports: UInt16...) throws -> RedisSentinels {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        guard case .sentinels(let sentinels) = try RedisLocation(url: "redis+sentinel://\(hosts)/people") else {
            throw RedisEndpointError(message: "no sentinels")
        }
        return sentinels
    }

    @Test(arguments: [false, true])
    func `the newest configuration of the sentinels wins`(reversed: Bool) async throws {
        let stale = try SentinelProcess(of: older, epoch: 3)
        let fresh = try SentinelProcess(of: newer, epoch: 4)
        let sentinels = try reversed ? location(fresh.port, stale.port) : location(stale.port, fresh.port)
        // The first answer may be of the partitioned sentinel: a moment later all have answered.
        try await Client.with(sentinels) { client in
            let port = newer.port
            await client.state { [client] in $0 == .ready && client.assumeIsolated { $0.port } == port }
            await expect(client.send("CONFIG", "GET", "port").value?.array?.last?.int, equals: Int64(port))
        }
        withExtendedLifetime((stale, fresh)) {}
    }

    @Test func `tools find the master too, past unreachable sentinels, and report if none is named`() throws {
        let stale = try SentinelProcess(of: older, epoch: 3)
        let fresh = try SentinelProcess(of: newer, epoch: 4)
        let missing = try FreePort.find()
        let found = try BlockingRedis.master(of: location(missing, fresh.port, stale.port))
        try expect(BlockingRedis(found).command("CONFIG", "GET", "port").array?.last?.int, equals: Int64(newer.port))
        #expect(throws: RedisFailure.self) { try BlockingRedis.master(of: location(missing)) }
        withExtendedLifetime((stale, fresh)) {}
    }

    @Test func `when another master is named, the connection moves there`() async throws {
        let stale = try SentinelProcess(of: older, epoch: 3)
        let late = try FreePort.find()
        try await Client.with(try location(stale.port, late)) { client in
            await client.ready()
            await expect(client.send("CONFIG", "GET", "port").value?.array?.last?.int, equals: Int64(older.port))
            let fresh = try SentinelProcess(of: newer, epoch: 4, port: late)
            await expect(client.breakReason().contains("name another master"))
            await client.ready()
            await expect(client.send("CONFIG", "GET", "port").value?.array?.last?.int, equals: Int64(newer.port))
            withExtendedLifetime(fresh) {}
        }
        withExtendedLifetime(stale) {}
    }

    @Test func `a server that is a replica is not used`() async throws {
        try newer.admin().command("REPLICAOF", "127.0.0.1", .init(older.port))
        let sentinel = try SentinelProcess(of: newer, epoch: 1)
        try await Client.with(try location(sentinel.port)) { client in
            await expect(client.breakReason().hasSuffix(": it is a replica"))
            try newer.admin().command("REPLICAOF", "NO", "ONE")
            await client.ready()
        }
        withExtendedLifetime(sentinel) {}
    }

    @Test func `a master that becomes a replica is left at the first refusal`() async throws {
        try await Client.with(newer.tcp) { client in
            await client.ready()
            try newer.admin().command("REPLICAOF", "127.0.0.1", .init(older.port))
            let failure = await client.send("SET", "key", "value").failure
            expect(failure?.code == "READONLY" && failure?.mayHaveRun == false && failure?.isPassing == true)
            await expect(client.breakReason().hasSuffix(": it is a replica"))
        }
    }

    @Test func `without a sentinel, or with one that knows no such master, the reason is reported`() async throws {
        let options = RedisOptions.with { $0.connectTimeout = 200 }
        let nobody = try FreePort.find()
        try await Client.with(try location(nobody), options) { client in
            await expect(client.breakReason().contains("127.0.0.1:\(nobody): Connection refused"))
        }
        let sentinel = try SentinelProcess(of: older, epoch: 1)
        let others = try #require(try? RedisLocation(url: "redis+sentinel://127.0.0.1:\(sentinel.port)/others"))
        guard case .sentinels(let unknown) = others else { return }
        try await Client.with(unknown, options) { client in
            await expect(client.breakReason().contains("know no master \"others\""))
        }
        withExtendedLifetime(sentinel) {}
    }
}
