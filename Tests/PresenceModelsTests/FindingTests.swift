import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

/// Finding people by their names, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct FindingTests {
    private let stage = Stage()
    private var server: InMemoryServer { stage.server }
    private let clock = TestClock()
    private let model: PeopleModel

    init() {
        model = PeopleModel(stage.client, clock: clock)
        server.addAccount("u1", displayName: "Bob Ray", username: "zed.1")
        server.addAccount("u2", displayName: "Bobbie Bea", username: "bea")
        server.addAccount("u3", displayName: "Cy")
        server.hasDirectory = true
    }

    private func pause(_ time: Duration = .milliseconds(400)) async {
        await clock.sleepers()
        clock.advance(by: time)
    }

    @Test func `a name is searched 0.4 s after the last key, once`() async {
        model.text = "b"
        expect(!model.isSearching, "it is too short")
        for text in ["bo", "bob"] {
            model.text = text
            expect(model.isSearching)
        }
        await pause()
        await until { model.found.count == 2 }
        expect(model.found.map(\.displayName) == ["Bob Ray", "Bobbie Bea"] && !model.isSearching)
        expect(server.requests("GET /v1/people").compactMap { $0["starts"] as? String }, equals: ["bob"])
        model.text = "@BOB r"
        expect(model.found.isEmpty, "another text")
        await model.search()
        expect(model.found.map(\.id) == ["u1"] && model.found[0].username == "zed.1")
        model.text = "zoe"
        await model.search()
        expect(model.hasFoundNobody && model.message == "Nobody was found. Ask them how their name is spelt.")
    }

    @Test func `without a directory, a whole username is looked up`() async throws {
        server.hasDirectory = false
        model.text = "bob"
        await model.search()
        expect(model.hasFoundNobody)
        model.text = "@BEA"
        await model.search()
        expect(model.found.map(\.displayName), equals: ["Bobbie Bea"])
        expect(server.requests("GET /v1/people").count, equals: 1, "it is known by then")
        await #expect(throws: PresenceError.self) { try await stage.client.users(startingWith: "bob") }
        try await expect(stage.client.user(named: "nobody.x"), equals: nil)
        try await expect(stage.client.user(named: "no name"), equals: nil)
    }

    @Test func `hidden users are not found, and a hidden profile only by username`() async throws {
        let shy = server.client(as: "u2")
        try await shy.setVisibility(presence: .nobody)
        try await expect(stage.client.users(startingWith: "bob").map(\.id), equals: ["u1"])
        try await expect(stage.client.users(startingWith: "be").map(\.displayName), equals: [""])
        try await shy.setVisibility(findable: .contacts)
        try await expect(stage.client.users(startingWith: "be").isEmpty)
        try await expect(stage.client.user(named: "bea"), equals: nil)
        try await shy.addContacts(["ana"])
        try await expect(stage.client.user(named: "bea")?.id, equals: "u2")
        try await shy.block(["ana"])
        try await expect(stage.client.user(named: "bea"), equals: nil)
    }

    @Test func `refusals are told`() async throws {
        for limit in [0, 21] {
            let error = await #expect(throws: PresenceError.self) {
                try await stage.client.users(startingWith: "bob", limit: limit)
            }
            expect(error?.field, equals: "limit")
        }
        try await expect(stage.client.users(startingWith: "bob", limit: 1).count, equals: 1)
        server.fail("GET /v1/people", with: PresenceError(.rateLimited, retryAfter: .seconds(1)))
        model.text = "bob"
        await model.search()
        expect(model.errorMessage == "That was too fast." && model.found.isEmpty)
        await model.search()
        expect(model.found.count, equals: 2)
        await model.add("u1")
        expect(server.contacts(of: "ana"), equals: ["u1"])
    }
}
