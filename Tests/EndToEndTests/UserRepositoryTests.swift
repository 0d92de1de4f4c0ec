import Expectations
import Foundation
import PresenceKit
import Testing

/// Users as an app's view models get them, with a server; and the library's rate limiting.
@Suite(.sharedServer(["linger": "500ms"])) struct UserRepositoryTests {
    let server = SharedServer.current!

    private func users(_ user: String) -> any UserRepository { server.client(user) }

    @Test func `a user is read as they are, and one who does not exist is not found`() async throws {
        let writer = users("repo-1")
        guard
            case .saved(let saved) = try await writer.update(
                ProfileChanges(
                    displayName: " Ana Silva ", photoURL: Change(URL(string: "https://example.org/a.jpg")),
                    timezone: "Europe/Lisbon", locale: "pt-PT"))
        else {
            Issue.record("not saved")
            return
        }
        expect(saved.displayName == "Ana Silva" && saved.displayInitials == "AS")
        let reader = users("repo-reader")
        let read = try await reader.user("repo-1")
        expect(read.id == "repo-1" && read.displayName == "Ana Silva" && read.isOnline)
        expect(read.profileImageURL?.absoluteString, equals: "https://example.org/a.jpg")
        expect(read.timezone == "Europe/Lisbon" && read.locale == "pt-PT" && read.createdAt > .distantPast)
        await #expect(throws: PresenceError.userNotFound("repo-nobody")) { try await reader.user("repo-nobody") }
        await #expect(throws: PresenceError.userNotFound("no id")) { try await reader.user("no id") }
    }

    @Test func `a batch gives those found and names the others, online and offline`() async throws {
        for user in ["repo-2", "repo-3"] { try await users(user).update(ProfileChanges(displayName: .set(user))) }
        let client = server.client("repo-batch")
        let reader: any UserRepository = client
        let found = try await reader.users(["repo-3", "repo-nobody", "repo-2"])
        expect(found.map(\.id) == ["repo-3", "repo-2"] && found.missing == ["repo-nobody"] && !found.isStale)
        await client.disconnect()
        let held = try await reader.users(["repo-3", "repo-never-asked", "repo-2"])
        expect(
            held.map(\.displayName) == ["repo-3", "repo-2"] && held.missing == ["repo-never-asked"] && held.isStale)
        try await expect(reader.user("repo-2").displayName, equals: "repo-2")
        await #expect(throws: PresenceError.self) { try await reader.user("repo-never-asked") }
    }

    @Test func `a user is observed, whole and as online`() async throws {
        let writer = server.client("repo-4")
        let repository: any UserRepository = writer
        try await repository.update(ProfileChanges(displayName: "First"))
        let seen = Sightings(users("repo-watcher").userUpdates(of: "repo-4"))
        let online = Sightings(users("repo-watcher-2").onlineUpdates(of: "repo-4"))
        try await seen.until("a name") { $0.displayName == "First" && $0.isOnline }
        try await online.until("online") { $0 }
        try await repository.setOnline(false)
        try await online.until("gone") { !$0 }
        try await repository.setOnline(true)
        try await online.until("back") { $0 }
        try await repository.update(User(id: "repo-4", displayName: "Second"))
        try await seen.until("another name") { $0.displayName == "Second" && $0.profileImageURL == nil }
    }

    @Test func `what the server does not accept names the member, in plain language`() async throws {
        let error = await #expect(throws: PresenceError.self) {
            try await users("repo-5").update(ProfileChanges(displayName: .set(String(repeating: "x", count: 51))))
        }
        expect(error?.code == .validationFailed && error?.field == "displayName")
        expect(error?.localizedDescription, equals: "This name cannot be used.")
    }

    @Test func `offline a change is queued, and made when the connection is back`() async throws {
        let writer = server.client("repo-6")
        try await writer.updateProfile(displayName: "Before")
        await writer.disconnect()
        try await expect(writer.update(ProfileChanges(displayName: "After")), equals: .queued)
        writer.connect()
        let seen = Sightings(users("repo-watcher-3").userUpdates(of: "repo-6"))
        try await seen.until("the change") { $0.displayName == "After" }
    }
}

/// A client and the server's rate limits.
@Suite(.sharedServer(["limits.requestsPerSecond": "400", "limits.requestBurst": "100"])) struct PaceTests {
    let server = SharedServer.current!

    @Test func `1,000 reads in a row are all answered, whatever the server's rate`() async throws {
        let reader = server.client("pace-reader")
        for number in 0..<1_000 { try await expect(reader.person("pace-\(number)"), equals: nil) }
    }

    @Test func `1,000 reads at once are all answered`() async throws {
        let reader = server.client("pace-crowd")
        try await server.client("crowd-7").updateProfile(displayName: "Seven")
        let found = try await withThrowingTaskGroup(of: Person?.self) { group in
            for number in 0..<1_000 { group.addTask { try await reader.person("crowd-\(number)") } }
            return try await group.reduce(into: [Person]()) { found, person in found += person.map { [$0] } ?? [] }
        }
        expect(found.map(\.displayName), equals: ["Seven"])
    }
}
