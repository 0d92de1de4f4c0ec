import Expectations
import Foundation
import PresenceKit
import TestSupport
import Testing

/// No process is left behind, however a server ends.
struct LeftBehindTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `a server that is asked to end takes its Redis along`(signal: Int32) async throws {
        let server = try await Presenced()
        let client = server.client("ana")
        let connection = Sightings(client.connectionStates)
        client.connect()
        try await connection.until("live") { $0 == .live }
        let redis = try #require(server.redisChild)
        // In a group of its own: a Ctrl-C in the terminal reaches the server alone.
        expect(getpgid(redis) != getpgid(try #require(server.process).id))
        expect(server.directory.processes.count, equals: 2)
        try await expect(server.stop(signal), equals: 0)
        expect(server.directory.processes.isEmpty)
        let end = try await connection.until("told to come back") { !$0.isConnected }
        if case .reconnecting(_, let error) = end { expect(error.code, equals: .serverUnavailable, "\(error)") }
    }

    @Test func `the Redis of a killed server ends too, and another start finds everything`() async throws {
        let server = try await Presenced()
        try await server.client("ana").updateProfile(displayName: "Ana")
        let redis = try #require(server.redisChild)
        server.kill()
        try await server.start()
        expect(server.redisChild != redis)
        expect(server.directory.processes.count, equals: 2)
        try await expect(server.client("bob").person("ana")?.displayName, equals: "Ana")
        server.kill()
        try await server.untilNothingIsLeft()
    }

    @Test func `a Redis that survived its server is dealt with at the next start`() async throws {
        let server = try await Presenced()
        try await server.client("ana").updateProfile(displayName: "Ana")
        server.kill()
        try await server.untilNothingIsLeft()
        // Another one on the same data, left running as if the kernel had not ended the first.
        let place = server.directory
        let survivor = try ChildProcess([
            "redis-server", "--port", "0", "--dir", place.path, "--unixsocket", place.file("redis.sock"),
            "--appendonly", "yes",
        ])
        try await Patience.until("the survivor's socket") {
            FileManager.default.fileExists(atPath: place.file("redis.sock"))
        }
        expect(server.redisChild, equals: survivor.id)
        try await server.start()
        try await expect(Patience.end(of: survivor), equals: 0)
        let present = try #require(server.redisChild)
        expect(present != survivor.id && server.directory.processes.count == 2)
        try await expect(server.client("bob").person("ana")?.displayName, equals: "Ana")
        try await expect(server.stop(), equals: 0)
        expect(server.directory.processes.isEmpty)
    }

    @Test func `a second signal ends a server at once, and its Redis still ends`() async throws {
        let server = try await Presenced()
        let process = try #require(server.process)
        process.signal(SIGTERM)
        process.signal(SIGINT)
        let status = try await Patience.end(of: process)
        expect([0, 128 + SIGTERM, 128 + SIGINT].contains(status))
        try await server.untilNothingIsLeft()
    }
}
