import Expectations
import Foundation
import PresenceKit
import Testing

/// The clients' view of a server, or of its Redis, that is killed and returns.
struct RecoveryTests {
    @Test func `a server killed and started again is found again, without flicker`() async throws {
        let server = try await Presenced(
            settings: ["linger": "10s", "lease.duration": "10s", "lease.renewal": "500ms"],
            arguments: ["--shards", "2"])
        let ana = server.client("ana")
        let connection = Sightings(ana.connectionStates)
        let roster = Sightings(ana.roster(of: ["bob", "cy"]))
        let bob = server.client("bob")
        let cy = server.client("cy")
        try await bob.setStatus(.busy, text: "hard to get")
        try await bob.updateProfile(displayName: "Bob")
        cy.connect()
        let before = try await roster.until("both, bob busy") {
            $0.freshness.isLive && $0.online.count == 2 && $0["bob"]?.presence.status == .busy
                && $0["bob"]?.displayName == "Bob"
        }

        server.kill()
        try await connection.next("a broken connection") { !$0.isConnected }
        try await roster.next("stale people") { $0.freshness.staleSince != nil && $0.online.count == 2 }
        // One client makes a change while offline; another one disconnects permanently.
        try await expect(bob.updateProfile(displayName: "Bobby", offline: .queue), equals: .queued)
        await cy.disconnect()
        try await server.start()

        try await connection.next("the same client, live") { $0 == .live }
        let back = try await roster.until("live people, the new name") {
            $0.freshness.isLive && $0["bob"]?.displayName == "Bobby"
        }
        expect(back["bob"]?.presence.since, equals: before["bob"]?.presence.since)
        expect(back["bob"]?.presence.text, equals: "hard to get")
        let end = try await roster.until("the one who left, gone") { $0.online.map(\.user) == ["bob"] }
        // Their old session ended with the lease, and its end was visible to no one.
        expect(end["bob"]?.presence.version, equals: before["bob"]?.presence.version)
        let shown = await roster.all.drop { $0["bob"]?.isOnline != true }
        expect(shown.allSatisfy { $0["bob"]?.presence.status == .busy })
        await expect(ana.me.user, equals: "ana")
        try await expect(server.stop(), equals: 0)
    }

    @Test func `a conversation that is asked for while Redis is silent is made, and once`() async throws {
        // One shard, so that its staleness is the client's; and room for one conversation.
        let server = try await Presenced(
            settings: ["limits.conversationsPerUser": "1"], arguments: ["--shards", "1"])
        let ana = server.client("ana")
        let connection = Sightings(ana.connectionStates)
        ana.connect()
        try await connection.until("live") { $0 == .live }
        let redis = try #require(server.redisChild)
        kill(redis, SIGSTOP)
        async let asked = ana.createConversation(with: ["bob"])
        try await connection.until("stale, with the creation's answer lost") {
            if case .stale = $0 { true } else { false }
        }
        kill(redis, SIGCONT)
        let conversation = try await asked
        expect(Set(conversation.participants), equals: ["ana", "bob"])
        // A second one would have had no room, so neither attempt made one in addition to the other. (A busy machine
        // may keep the server stale for a moment longer.)
        var second: PresenceError?
        repeat {
            second = await #expect(throws: PresenceError.self) { try await ana.createConversation(with: ["cy"]) }
        } while second?.code == .unavailable
        expect(second?.code, equals: .tooMany)
        try await expect(server.stop(), equals: 0)
    }

    @Test func `every acknowledged change is there after Redis was killed`() async throws {
        let server = try await Presenced(settings: ["limits.pendingRequests": "100"])
        let watcher = Sightings(server.client("watcher").presence(of: "nobody"))
        try await watcher.until("an answer") { $0.freshness.isLive }
        let backend = try await server.token("office", role: "backend")
        let redis = try #require(server.redisChild)

        // Eight at a time, each change another user's, until a hundred are acknowledged and Redis has been killed.
        let race = Race()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while let number = await race.next() {
                        let answer = try await server.http(
                            "PATCH", "/v1/users/u\(number)/profile", token: backend,
                            body: #"{"displayName":"Number \#(number)"}"#)
                        if answer.status == 200 {
                            if await race.isSaved(number) { kill(redis, SIGKILL) }
                        } else {
                            // Redis is returning.
                            expect(answer.status, equals: 503, "\(answer)")
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        // It may be back so soon that a slow loop never noticed.
        try await watcher.until("live again") { $0.freshness.isLive }
        expect(server.redisChild != redis)

        let saved = await race.saved
        let reader = server.client("reader")
        let people = try await reader.people(saved.sorted().map { "u\($0)" })
        expect(people.count, equals: saved.count)
        for person in people { expect(person.displayName, equals: "Number \(person.user.dropFirst())") }
        try await expect(server.stop(), equals: 0)
    }
}

/// Changes numbered as they begin, and the acknowledged ones.
private actor Race {
    private(set) var saved: Set<Int> = []
    private var begun = 0

    /// The next one, unless enough have been acknowledged.
    func next() -> Int? {
        guard saved.count < 100 else { return nil }
        begun += 1
        return begun
    }

    /// Whether this one is the fiftieth: the moment to strike, with others in flight.
    func isSaved(_ number: Int) -> Bool {
        saved.insert(number)
        return saved.count == 50
    }
}
