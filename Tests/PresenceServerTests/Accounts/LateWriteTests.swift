import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Requests that a server handles only after their device was signed out or their account deleted.
@Suite struct LateWriteTests {
    private let accounts: AccountWorld
    private let password = "correct horse"
    private var world: World { accounts.world }

    init() throws { accounts = try AccountWorld() }

    private func signUp() throws -> (user: UserID, token: String) {
        let body = ["email": "ana@example.org", "password": password, "displayName": "Ana"]
        let ana = try accounts.call("POST", "/v1/accounts", body).json
        return (
            try #require((ana["user"] as? String).flatMap { UserID($0) }), try #require(ana["accessToken"] as? String)
        )
    }

    /// The fields of the user's hash.
    private func record(of user: UserID) throws -> [String] {
        let key = world.shards[0].logic.partitions.keys(of: user).user(user)
        return try world.redis.command(["HKEYS", key]).get().array?.compactMap(\.string).sorted() ?? []
    }

    @Test func `a deleted account's profile and status do not return`() throws {
        let ana = try signUp()
        let client = SimulatedClient(ana.user.string, in: world)
        client.signedToken = ana.token
        try client.connect(to: world.shards[0])
        let bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1]).watch(ana.user.string)
        world.shards[0].hold(.commands, for: 1_000)
        world.shards[0].holdEvents(for: 1_000)
        client.send(.updateProfile(.init(displayName: .set("Back again"))))
        client.send(.status(.init(status: .busy, text: .set("Back again"))))
        client.sendText(#"{"type":"createConversation","id":90,"participants":["bob","cy"],"name":"Trip"}"#)
        let deleted = try accounts.call("DELETE", "/v1/me", ["password": password], token: ana.token, at: 1)
        expect(deleted.status, equals: 204)
        try world.run(for: 5_000)
        expect(client.closeCode, equals: .unauthorized)
        expect(!client.received.contains { if case .error = $0 { true } else { false } })
        let left = try record(of: ana.user)
        expect(left.contains("revokedAt"))
        expect(!left.contains { ["profile", "profileVersion", "chosen", "text", "presence"].contains($0) })
        if case .profile(let shown)? = bob.profiles[ana.user] { Issue.record("\(shown) is shown") }
        expect(bob.status(of: ana.user.string), equals: .offline)
        let keys = world.shards[0].logic.partitions.keys(of: UserID("bob")!)
        try expect(world.redis.command(["EXISTS", keys.inbox(UserID("bob")!)]).get().int, equals: 0)
    }

    /// A conversation is in another partition than its members, so the server checks their tokens just before the
    /// write.
    @Test func `a server that paused while it checked a token checks it again`() throws {
        let ana = try signUp()
        let client = SimulatedClient(ana.user.string, in: world)
        client.signedToken = ana.token
        try client.connect(to: world.shards[0])
        client.sendText(#"{"type":"createConversation","id":90,"participants":["bob","cy"],"name":"Trip"}"#)
        var made: ConversationID?
        try world.run(until: "there is a group") {
            for case .conversationCreated(_, let talk) in client.received { made = talk.id }
            return made != nil
        }
        let id = try #require(made)
        world.shards[0].holdReplies(.commands, for: 20)
        client.sendText(#"{"type":"send","id":91,"conversation":"\#(id)","message":{"id":"late","text":"late"}}"#)
        client.sendText(#"{"type":"changeMembers","id":92,"conversation":"\#(id)","add":["dan"]}"#)
        try world.run(for: 10)
        world.shards[0].stop()
        try expect(accounts.call("DELETE", "/v1/sessions/all", token: ana.token, at: 1).status, equals: 204)
        try world.run(for: 6_000)
        world.shards[0].wakeUp()
        try world.run(for: 10_000)
        let keys = world.shards[0].logic.partitions.keys(of: id)
        try expect(world.redis.command(["LLEN", keys.log(id)]).get().int, equals: 0)
        let dan = UserID("dan")!
        let inbox = world.shards[0].logic.partitions.keys(of: dan).inbox(dan)
        try expect(world.redis.command(["EXISTS", inbox]).get().int, equals: 0)
        expect(client.closeCode, equals: .unauthorized)
    }

    /// The script after which the device is signed out, and the call that then continues.
    @Test(
        arguments: [
            (.account, "PUT", "/v1/me/username", ["username": "late"]), (.account, "DELETE", "/v1/me/username", [:]),
            (.guess, "POST", "/v1/me/password", ["password": "correct horse", "newPassword": "another horse"]),
            (.guess, "POST", "/v1/me/email", ["password": "correct horse", "email": "late@example.org"]),
            (.guess, "DELETE", "/v1/me", ["password": "correct horse"]),
        ] as [(Script, String, String, [String: String])])
    func `a call that is under way when its device is signed out changes nothing`(
        script: Script, method: String, path: String, body: [String: String]
    ) throws {
        let ana = try signUp()
        let before = try record(of: ana.user)
        let grants = world.shards[0].logic.partitions.keys(of: ana.user).grants(ana.user)
        world.redis.ran = { [world] ran, _, _ in
            guard ran == script else { return }
            world.after(0) { _ = world.redis.command(["DEL", grants]) }
        }
        let call = try accounts.call(method, path, body, token: ana.token)
        expect(call.status == 401 && call.json["code"] as? String == "unauthorized")
        world.redis.ran = { _, _, _ in }
        try world.run(for: 15_000)
        try expect(record(of: ana.user), equals: before)
        let again = ["email": "ana@example.org", "password": password]
        try expect(accounts.call("POST", "/v1/sessions", again).status, equals: 200)
    }
}
