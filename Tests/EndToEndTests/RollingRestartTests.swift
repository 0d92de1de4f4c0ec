import Expectations
import Foundation
import PresenceKit
import TestSupport
import Testing

/// Two servers on one Redis are restarted one after the other, while people are on both.
struct RollingRestartTests {
    @Test(.enabled(if: PythonWatcher.isAvailable, "needs Debian's python3-websockets"))
    func `watchers on the other server see no change of anyone`() async throws {
        let redis = try RedisServer()
        let directory = try TemporaryDirectory()
        let settings = ["linger": "10s", "lease.duration": "10s", "lease.renewal": "500ms"]
        let servers = [
            try await Presenced(
                directory: directory, redis: redis.url, settings: settings, arguments: ["--shards", "2"]),
            try await Presenced(
                directory: directory, redis: redis.url, settings: settings, arguments: ["--shards", "2"]),
        ]
        let people = (0..<6).map { (user: "p\($0)", client: servers[$0 % 2].client("p\($0)")) }
        for (user, client) in people { try await client.setStatus(.auto, text: "I am \(user)") }

        let former = try redis.incarnations
        for index in servers.indices {
            let server = servers[index]
            let other = servers[1 - index]
            let watcher = Sightings(other.client("watcher").roster(of: people.map(\.user)))
            let raw = try PythonWatcher(
                of: other, token: try await other.token("raw"), users: people.map(\.user) + ["mark"])
            let before = Scene(
                try await watcher.until("everybody here") { $0.freshness.isLive && $0.online.count == people.count })
            let quiet = try await raw.sightings.until("everybody here") { $0.people.count == people.count + 1 }

            let connections = stride(from: index, to: people.count, by: 2).map {
                Sightings(people[$0].client.connectionStates)
            }
            for connection in connections { try await connection.next("live") { $0 == .live } }
            try await server.stop()
            for connection in connections { try await connection.next("told to come back") { !$0.isConnected } }
            try await server.start()
            for connection in connections { try await connection.next("live again") { $0 == .live } }
            if index == 1 {
                // Until all leases of earlier shards have expired, and their users have been handled.
                try await Patience.until("the end of the old incarnations") {
                    try redis.incarnations.isDisjoint(with: former)
                }
            }
            let mark = other.client("mark")
            mark.connect()
            let after = try await raw.sightings.until("the mark") { $0.people["mark"]?.presence?.status == "online" }
            expect(after.events, equals: quiet.events + 1)
            let last = try #require(await watcher.all.last)
            expect(Scene(last), equals: before)
            await mark.disconnect()
            try await raw.sightings.until("the mark gone") { $0.people["mark"]?.presence?.status == "offline" }
        }
        for server in servers { try await expect(server.stop(), equals: 0) }
    }
}

extension RedisServer {
    /// The incarnations of shards with a lease.
    fileprivate var incarnations: Set<String> {
        get throws {
            let leases = try admin().command("HKEYS", "leases").array ?? []
            return Set(leases.compactMap(\.string)).subtracting(["swept"])
        }
    }
}
