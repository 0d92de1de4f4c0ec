import Expectations
import Foundation
import PresenceKit
import Testing

/// Many clients on one server of several shards.
struct CrowdTests {
    @Test func `two hundred clients on two shards all see the same`() async throws {
        let server = try await Presenced(arguments: ["--shards", "2"])
        // Forty people with five devices each; everyone watches everyone.
        let users = (0..<40).map { "u\($0)" }
        let tokens = try await tokens(of: users, from: server)
        let clients = users.flatMap { user in
            (0..<5).map { index in
                PresenceClient(
                    url: server.url, token: tokens[user]!, device: Device(id: "d\(index)", kind: .phone))
            }
        }
        let rosters = clients.map { Sightings($0.roster(of: users)) }
        for roster in rosters {
            try await roster.until("everybody") { $0.freshness.isLive && $0.online.count == users.count }
        }

        // All at once: half of the people change their status, a quarter leave with all their devices.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, user) in users.enumerated() {
                let devices = clients[index * 5..<index * 5 + 5]
                group.addTask {
                    for (number, device) in devices.enumerated() where index % 2 == 0 {
                        try await device.setStatus(.busy, text: "\(user) says \(number)")
                        try await device.updateProfile(displayName: "\(user) \(number)")
                    }
                    for device in devices where index % 4 == 3 { await device.disconnect() }
                }
            }
            try await group.waitForAll()
        }
        let isEnd = { @Sendable (roster: Roster) -> Bool in
            users.enumerated().allSatisfy { index, user in
                guard let person = roster[user] else { return false }
                if index % 4 == 3 { return !person.isOnline }
                if index % 2 == 1 { return person.presence.status == .online && person.displayName == nil }
                return person.presence.text == "\(user) says 4" && person.displayName == "\(user) 4"
            }
        }
        // A client that left shows its last state, as stale.
        let present = rosters.indices.filter { $0 / 5 % 4 != 3 }
        var scenes: Set<Scene> = []
        for index in present {
            scenes.insert(
                Scene(try await rosters[index].until("the end") { $0.freshness.isLive && isEnd($0) }))
        }
        expect(scenes.count, equals: 1)
        try await expect(server.stop(), equals: 0)
    }

    private func tokens(of users: [String], from server: Presenced) async throws -> [String: String] {
        try await withThrowingTaskGroup(of: (String, String).self) { group in
            for user in users { group.addTask { (user, try await server.token(user)) } }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}
