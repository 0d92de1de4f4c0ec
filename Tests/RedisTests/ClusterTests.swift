import EventLoops
import Expectations
import TestSupport
import Testing

@testable import Redis

@Suite(.serialized, .timeLimit(.minutes(1)))
struct ClusterTests {
    let cluster: TwoMasters

    init() throws { cluster = try TwoMasters() }

    private static let append = RedisScript(
        name: "append", source: "#!lua\nredis.call('RPUSH', KEYS[1], ARGV[1]) return tonumber(ARGV[1])")

    @Test func `commands go to the master of their slot`() async throws {
        try await ClusterClient.with(cluster) { client in
            for key in ["{a}", "{b}", "{c}", "leases"] {
                await expect(client.send(key, "SET", .string(key), "x"), equals: .success(.status("OK")))
                let found = try cluster.owner(of: key).admin().command("EXISTS", .string(key))
                expect(found.int, equals: 1)
            }
            let answers = await client.everywhere("CONFIG", "GET", "port")
            expect(Set(answers.map { $0.value?.array?.last?.int }), equals: Set(cluster.nodes.map { Int64($0.port) }))
        }
    }

    @Test(arguments: [false, true])
    func `while a slot moves, its commands run once each and in their order, and none fails`(
        withAbsentKey: Bool
    ) async throws {
        let code = withAbsentKey ? "TRYAGAIN" : "ASK"
        try await ClusterClient.with(cluster) { client in
            func burst() async -> [Answer] {
                await client.burst(20) { lane, number, reply in
                    guard withAbsentKey else {
                        return lane.send(["RPUSH", "{a}list", .init(number)], key: "{a}list") {
                            reply($0.map { _ in .null })
                        }
                    }
                    // Redis does not run a script if one of its keys is missing while the slot moves.
                    lane.run(Self.append, keys: ["{a}list", "{a}absent"], arguments: [.init(number)]) {
                        reply($0.map { _ in .null })
                    }
                }
            }
            var answers = await burst()
            for _ in 1...3 {
                let source = try cluster.owner(of: "{a}").admin()
                try source.command("CONFIG", "RESETSTAT")
                try cluster.beginMove(slotOf: "{a}")
                if !withAbsentKey { try cluster.moveKey("{a}list") }
                async let held = burst()
                try await waitUntil {
                    try source.command("INFO", "errorstats").string?.contains("errorstat_\(code)") == true
                }
                try cluster.endMove(slotOf: "{a}")
                answers += await held
                answers += await burst()
            }
            expect(answers, equals: Array(repeating: .success(.null), count: 140))
            let list = try cluster.owner(of: "{a}").admin().command("LRANGE", "{a}list", 0, -1).array?.map(\.int)
            expect(list, equals: (1...140).map { Int64($0) })
            await expect(client.falls, equals: 0)
        }
    }

    @Test func `a slot that stays half moved is given up in time, and found again afterwards`() async throws {
        let options = RedisOptions.with { $0.commandTimeout = 300 }
        try await ClusterClient.with(cluster, options) { client in
            _ = await client.send("{a}", "SET", "{a}there", "x")
            try cluster.beginMove(slotOf: "{a}")
            let failure = await client.run(Self.append, "{a}there", "{a}absent", "1").failure
            expect(failure?.mayHaveRun, equals: false)
            await expect(client.fallReason().contains("TRYAGAIN"))
            // Commands for other slots are not affected.
            await client.up()
            await expect(client.send("{b}", "SET", "{b}", "x"), equals: .success(.status("OK")))
            try cluster.endMove(slotOf: "{a}")
            await expect(client.run(Self.append, "{a}list", "{a}absent", "1"), equals: .success(.integer(1)))
        }
    }

    @Test func `a lost master brings the lane down until it is back, and nothing is sent twice`() async throws {
        try await ClusterClient.with(cluster) { client in
            let owner = try cluster.owner(of: "{a}")
            async let answer = client.send("{a}", "BLPOP", "{a}nothing", 0)
            try await waitUntil {
                try owner.admin().command("INFO", "clients").string?.contains("blocked_clients:1") == true
            }
            owner.kill()
            await expect(answer, equals: .failure(.disconnected(sent: true)))
            _ = await client.fallReason()
            await expect(client.send("{b}", "PING"), equals: .failure(.disconnected(sent: false)))
            try owner.start()
            await client.up()
            try expect(owner.admin().command("INFO", "clients").string?.contains("blocked_clients:0"), equals: true)
        }
    }
}
