import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(1))) struct PeopleModelTests {
    private let stage = Stage(
        .online("bob", name: "Bob"), .offline("dan", name: "Ana"), .online("cy", name: "Cy", status: .busy))
    private var server: InMemoryServer { stage.server }

    @Test func `a roster shows online users first, then by name`() async {
        let model = RosterModel(stage.client, users: ["dan", "bob", "cy"])
        let run = Task { await model.run() }
        await until { model.people.count == 3 }
        expect(model.people.map(\.user), equals: ["bob", "cy", "dan"])
        expect(model.isComplete && model.freshness == .live)
        server.set(.online("dan", name: "Ana"), .offline("bob", name: "Bob"))
        await until { model.people.map(\.user) == ["dan", "cy", "bob"] }
        expect(model.online.map(\.user), equals: ["dan", "cy"])
        run.cancel()
        await run.value
    }

    @Test func `a roster in the order given`() async {
        let model = RosterModel(stage.client, users: ["dan", "bob"], order: .given)
        let run = Task { await model.run() }
        await until { model.people.map(\.user) == ["dan", "bob"] }
        run.cancel()
    }

    @Test func `an added user appears, a removed one disappears, the others stay`() async {
        let model = RosterModel(stage.client, users: ["dan", "bob"])
        let run = Task { await model.run() }
        await until { model.people.count == 2 }
        model.users = ["bob", "cy"]
        expect(model.people.map(\.user), equals: ["bob"], "at once")
        await until { model.people.map(\.user) == ["bob", "cy"] }
        expect(model.changed, equals: ["cy"], "bob was shown, and has not changed")
        server.set(.offline("cy", name: "Cy"))
        await until { !model.people[1].isOnline }
        run.cancel()
        await run.value
    }

    @Test func `offline a roster is stale, and live again by itself`() async {
        let model = RosterModel(stage.client, users: ["bob"])
        let run = Task { await model.run() }
        await until { model.freshness == .live && !model.people.isEmpty }
        server.goOffline()
        await until { if case .stale = model.freshness { true } else { false } }
        expect(model.people.first?.isOnline, equals: true, "as last known")
        server.goOnline()
        await until { model.freshness == .live }
        run.cancel()
    }

    @Test func `a sign-out ends run`() async {
        let model = RosterModel(stage.client, users: ["bob"])
        let run = Task { await model.run() }
        await until { !model.people.isEmpty }
        await stage.client.signOut()
        await run.value
    }

    @Test func `a user has a name, a status line, and a freshness`() async {
        let model = PersonModel(stage.client, user: "bob")
        expect(model.name == "bob" && model.subtitle == "" && !model.isLive)
        let run = Task { await model.run() }
        await until { model.isOnline }
        expect(model.name == "Bob" && model.subtitle == "Online" && model.isLive)
        server.set(.online("bob", name: "Bob", status: .busy, text: "In a meeting"))
        await until { model.subtitle == "In a meeting" }
        server.set(.online("bob", status: .away))
        await until { model.subtitle == "Away" }
        expect(model.name, equals: "bob")
        server.set(.offline("bob"))
        await until { model.subtitle == "Offline" && !model.isOnline }
        await stage.client.disconnect()
        await until { model.problem?.code == .notConnected && !model.isLive }
        run.cancel()
        await run.value
    }

    @Test func `the connection is a banner, and a button`() async {
        let model = ConnectionModel(stage.client)
        let run = Task { await model.run() }
        await stage.connected()
        await until { model.isConnected }
        expect(model.banner == nil && !model.canRetry)
        server.goOffline()
        await until { model.banner == "No connection. Trying again…" }
        expect(model.canRetry)
        model.retry()
        server.isStale = true
        server.goOnline()
        await until { model.banner == "The server is catching up." && model.isConnected }
        server.hold()
        stage.client.reconnectNow()
        await until { model.banner == "Connecting…" }
        // The client gives up after the token that it had, and two new ones.
        for _ in 0..<3 { server.fail("connect", with: PresenceError(.unauthorized, "expired")) }
        server.release()
        await until { model.banner == "You are not signed in. Please sign in again." }
        server.isStale = false
        model.retry()
        await until { model.isConnected && model.banner == nil }
        await stage.client.disconnect()
        await until { model.banner == nil && !model.canRetry && !model.isConnected }
        run.cancel()
    }
}
