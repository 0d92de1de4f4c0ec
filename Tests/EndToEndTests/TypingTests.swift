import Expectations
import PresenceKit
import Testing

/// Typing in a conversation, by the library's calls against a server whose typing expires after 4 s.
@Suite(.sharedServer(["typing.expiry": "4s"]))
struct TypingTests {
    let server = SharedServer.current!

    @Test func `typing is seen until it is stopped`() async throws {
        let ana = server.client("stop-ana")
        let bob = server.client("stop-bob")
        let room = try await ana.createConversation(with: ["stop-bob"])
        expect(room.participants, equals: ["stop-ana", "stop-bob"])
        let seen = Sightings(bob.typing(in: room.id))
        let own = Sightings(ana.typing(in: room.id))
        try await expect(seen.until("an answer") { $0.freshness.isLive }.users.isEmpty)
        try await own.until("an answer") { $0.freshness.isLive }
        ana.startTyping(in: room.id)
        ana.startTyping(in: room.id)
        bob.startTyping(in: room.id)
        try await seen.until("the other one typing") { $0.users == ["stop-ana"] && $0.isAnyone }
        try await own.until("the other one typing, not oneself") { $0.users == ["stop-bob"] }
        ana.stopTyping(in: room.id)
        try await seen.until("nobody typing") { !$0.isAnyone }
    }

    @Test func `typing expires without repetition, and continues with it`() async throws {
        let watcher = server.client("expiry-watcher")
        let diligent = server.client("expiry-diligent") { $0.typingInterval = .milliseconds(300) }
        let silent = server.client("expiry-silent") { $0.typingInterval = .seconds(3_600) }
        let room = try await watcher.createConversation(with: ["expiry-diligent", "expiry-silent"])
        let seen = Sightings(watcher.typing(in: room.id))
        try await seen.until("an answer") { $0.freshness.isLive }
        diligent.startTyping(in: room.id)
        silent.startTyping(in: room.id)
        try await seen.until("both typing") { $0.users == ["expiry-diligent", "expiry-silent"] }
        // The first one, who repeats it, is still typing when the other's time has expired.
        try await seen.next("an end") { $0.users != ["expiry-diligent", "expiry-silent"] }
        await expect(seen.all.last?.users, equals: ["expiry-diligent"])
        await diligent.disconnect()
        try await seen.until("nobody typing") { !$0.isAnyone }
    }

    @Test func `a conversation is its participants' own`() async throws {
        let ana = server.client("own-ana")
        let eve = server.client("own-eve")
        let room = try await ana.createConversation(with: ["own-bob"])
        let seen = Sightings(eve.typing(in: room.id))
        let refused = try await seen.until("a refusal") { $0.problem != nil }
        expect(refused.problem?.code, equals: .forbidden)
        let many = (0..<10).map { "own-\($0)" }
        let crowd = await #expect(throws: PresenceError.self) { try await ana.createConversation(with: many) }
        expect(crowd?.code == .tooMany || crowd?.code == .validationFailed)
    }
}
