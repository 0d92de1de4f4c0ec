import Expectations
import Foundation
import PresenceKit
import TestSupport
import Testing

/// `presenced doctor` beside real servers.
struct DoctorTests {
    private static let quick = [
        "linger": "500ms", "lease.duration": "1s", "lease.renewal": "100ms", "lease.sweep": "50ms", "partitions": "16",
    ]

    private func examine(_ words: [String]) async throws -> Presenced.Result {
        try await Presenced.run(["doctor"] + words, settings: Self.quick)
    }

    private struct Report: Decodable {
        struct Finding: Decodable { let kind: String, count: Int, subjects: [String], repair: String? }
        struct Lease: Decodable { let incarnation: String, state: String, sessions: Int }
        let healthy: Bool
        let users: Int, sessions: Int
        let leases: [Lease]
        let findings: [Finding], repaired: [Finding]

        init(_ result: Presenced.Result) throws {
            self = try JSONDecoder().decode(Report.self, from: Data(result.output.joined(separator: "\n").utf8))
        }
    }

    @Test func `busy servers are well, however often it looks`() async throws {
        let redis = try RedisServer()
        let directory = try TemporaryDirectory()
        let servers = [
            try await Presenced(
                directory: directory, redis: redis.url, settings: Self.quick, arguments: ["--shards", "2"]),
            try await Presenced(
                directory: directory, redis: redis.url, settings: Self.quick, arguments: ["--shards", "2"]),
        ]
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<12 {
                let client = servers[number % 2].client("p\(number)")
                group.addTask {
                    // People connect, disconnect and change their state as fast as they can.
                    while await !isOver.isSet {
                        client.connect()
                        try await client.setStatus(
                            number % 3 == 0 ? .busy : .auto, text: "\(number)", clearAfter: .seconds(1))
                        _ = try await client.updateProfile(displayName: "P \(number)")
                        await client.disconnect()
                    }
                }
            }
            for _ in 0..<5 {
                let result = try await examine(["--redis", redis.url])
                expect(result.status == 0 && result.output.last == "all is well", "\(result)")
            }
            await isOver.set()
            try await group.waitForAll()
        }
        let report = try Report(try await examine(["--redis", redis.url, "--json", "--repair"]))
        expect(report.healthy && report.users == 12 && report.leases.count == 4 && report.repaired.isEmpty)
        for server in servers { try await expect(server.stop(), equals: 0) }
    }

    @Test func `leftovers of a killed server without a successor are found and repaired`() async throws {
        let redis = try RedisServer()
        let server = try await Presenced(redis: redis.url, settings: Self.quick, arguments: ["--shards", "1"])
        let client = server.client("bob")
        try await client.setStatus(.busy)
        server.kill()
        await client.disconnect()
        var found = try await examine(["--redis", redis.url, "--json"])
        try await Patience.until("an overdue lease") {
            found = try await examine(["--redis", redis.url, "--json"])
            return found.status == 1
        }
        let report = try Report(found)
        expect(report.findings.map(\.kind) == ["overdueLease"] && report.leases.map(\.state) == ["ranOut"])
        expect(report.sessions, equals: 1)
        let repaired = try Report(try await examine(["--redis", redis.url, "--json", "--repair"]))
        expect(repaired.healthy && repaired.repaired.map(\.kind) == ["overdueLease"] && repaired.sessions == 0)

        // The next server has only current users to show.
        try await server.start()
        let bob = try #require(try await server.client("ana").person("bob"))
        expect(!bob.isOnline && bob.presence.lastSeen != nil)
        try await expect(server.stop(), equals: 0)
    }

    @Test func `a server with a Redis of its own is looked at through its directory, while it runs`() async throws {
        let server = try await Presenced(settings: Self.quick)
        let place = ["--data-dir", server.directory.path]
        let running = try await examine(place)
        expect(running.status == 0 && running.output.last == "all is well", "\(running)")
        try await server.stop()
        let stopped = try await examine(place)
        expect(stopped.status == 2 && stopped.output.isEmpty)
        expect(stopped.complaints.count == 1 && stopped.complaints[0].contains("no server runs on"), "\(stopped)")
        let nowhere = try await examine(["--data-dir", server.directory.path + "/nowhere"])
        expect(nowhere.status == 2 && nowhere.complaints[0].contains("nowhere"))
        expect(!FileManager.default.fileExists(atPath: server.directory.path + "/nowhere"))
    }

    @Test func `an unreachable Redis and an unused one are distinguished`() async throws {
        let redis = try RedisServer()
        let unused = try await examine(["--redis", redis.url])
        expect(unused.status == 1 && unused.output.contains { $0.contains("noFormat") })
        let replica = try RedisServer(["--replicaof", "127.0.0.1 1"])
        for command in ["doctor", "user", "webhooks"] {
            let told = try await Presenced.run(
                [command] + (command == "user" ? ["list"] : []) + ["--redis", replica.url], settings: Self.quick)
            expect(told.status == (command == "doctor" ? 2 : 1) && told.output.isEmpty, "\(told)")
            expect(told.complaints.contains { $0.contains("this is a replica of 127.0.0.1:1") }, "\(told)")
        }
        redis.kill()
        let gone = try await examine(["--redis", redis.url])
        expect(gone.status == 2 && gone.output.isEmpty && gone.complaints.count == 1)
        try await expect(examine(["--redis", "http://x"]).status, equals: 2)
        try await expect(examine(["--mend"]).status, equals: 64)
    }
}

private actor Flag {
    private(set) var isSet = false
    func set() { isSet = true }
}
