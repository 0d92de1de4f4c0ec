import Foundation
import PresenceKit
import PresenceTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(1))) struct PeopleModelTests {
    private let presence = FakePresence(people: [
        .online("bob", name: "Bob"), .offline("ana", name: "Ana"), .online("cy", name: "Cy", status: .busy),
    ])

    @Test func `a roster shows online users first, then by name`() async {
        let model = RosterModel(presence, users: ["ana", "bob", "cy"])
        let run = Task { await model.run() }
        await until { model.people.count == 3 }
        #expect(model.people.map(\.user) == ["bob", "cy", "ana"])
        #expect(model.isComplete && model.freshness == .live)
        presence.set(.online("ana", name: "Ana"), .offline("bob", name: "Bob"))
        await until { model.people.map(\.user) == ["ana", "cy", "bob"] }
        #expect(model.online.map(\.user) == ["ana", "cy"])
        run.cancel()
        await run.value
    }

    @Test func `a roster in the order given`() async {
        let model = RosterModel(presence, users: ["ana", "bob"], order: .given)
        let run = Task { await model.run() }
        await until { model.people.map(\.user) == ["ana", "bob"] }
        run.cancel()
    }

    @Test func `an added user appears, a removed one disappears, the others stay`() async {
        let model = RosterModel(presence, users: ["ana", "bob"])
        let run = Task { await model.run() }
        await until { model.people.count == 2 }
        model.users = ["bob", "cy"]
        #expect(model.people.map(\.user) == ["bob"], "at once")
        await until { model.people.map(\.user) == ["bob", "cy"] }
        #expect(model.changed == ["cy"], "bob was shown, and has not changed")
        presence.set(.offline("cy", name: "Cy"))
        await until { !model.people[1].isOnline }
        run.cancel()
        await run.value
    }

    @Test func `offline a roster is stale, and live again by itself`() async {
        let model = RosterModel(presence, users: ["bob"])
        let run = Task { await model.run() }
        await until { model.freshness == .live && !model.people.isEmpty }
        presence.goOffline(at: .inTests)
        await until { model.freshness == .stale(since: .inTests) }
        #expect(model.people.first?.isOnline == true, "as last known")
        presence.goOnline()
        await until { model.freshness == .live }
        run.cancel()
    }

    @Test func `a sign-out ends run`() async {
        let model = RosterModel(presence, users: ["bob"])
        let run = Task { await model.run() }
        await until { !model.people.isEmpty }
        await presence.signOut()
        await run.value
    }

    @Test func `a user has a name, a status line, and a freshness`() async {
        let model = PersonModel(presence, user: "bob")
        #expect(model.name == "bob" && model.subtitle == "" && !model.isLive)
        let run = Task { await model.run() }
        await until { model.isOnline }
        #expect(model.name == "Bob" && model.subtitle == "Online" && model.isLive)
        presence.set(.online("bob", name: "Bob", status: .busy, text: "In a meeting"))
        await until { model.subtitle == "In a meeting" }
        presence.set(.online("bob", status: .away))
        await until { model.subtitle == "Away" }
        #expect(model.name == "bob")
        presence.set(.offline("bob"))
        await until { model.subtitle == "Offline" && !model.isOnline }
        presence.set(Person(unknown: "bob", problem: PresenceError(.forbidden, "no")))
        await until { model.problem?.code == .forbidden && !model.isLive }
        run.cancel()
        await run.value
        #expect(presence.loops(on: "bob") == 0)
    }

    @Test func `the connection is a banner, and a button`() async {
        let model = ConnectionModel(presence)
        let run = Task { await model.run() }
        await until { model.isConnected }
        #expect(model.banner == nil && !model.canRetry)
        presence.goOffline()
        await until { model.banner == "No connection. Trying again…" }
        #expect(model.canRetry)
        model.retry()
        presence.set(.stale(since: .inTests))
        await until { model.banner == "The server is catching up." && model.isConnected }
        presence.set(.connecting)
        await until { model.banner == "Connecting…" }
        presence.set(.closed(PresenceError(.unauthorized, "expired")))
        await until { model.banner == "You are not signed in. Please sign in again." }
        model.retry()
        #expect(presence.calls == [.reconnectNow, .connect])
        presence.set(.closed(nil))
        await until { model.banner == nil && !model.canRetry }
        run.cancel()
    }
}
