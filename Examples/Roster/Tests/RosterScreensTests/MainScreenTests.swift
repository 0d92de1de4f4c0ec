import PresenceKit
import PresenceTesting
import RosterScreens
import Testing

/// The screen without a server: a fake client, and time that the test advances.
@MainActor @Suite(.timeLimit(.minutes(1)))
struct MainScreenTests {
    private let presence = FakePresence(user: "ana", people: [.online("bob", name: "Bob"), .offline("cy", name: "Cy")])
    private let users = FakeUserRepository([User(id: "ana", displayName: "Ana")], me: "ana")
    private let clock = TestClock()

    private func shown() -> (screen: MainScreen, run: Task<Void, Never>) {
        let screen = MainScreen(presence, users: users, user: "ana", friends: ["bob", "cy"], clock: clock)
        return (screen, Task { await screen.run() })
    }

    @Test func showsWhoIsHere() async {
        let (screen, run) = shown()
        await until { screen.lines == ["ana (auto) — 1 of 2 here", "● Bob: online", "○ Cy: offline"] }
        presence.set(.online("cy", name: "Cy", status: .busy, text: "lunch"))
        await until { screen.lines.contains("● Cy: lunch") }
        run.cancel()
    }

    @Test func saysThatItIsOffline() async {
        let (screen, run) = shown()
        await until { screen.lines.count == 3 }
        presence.goOffline()
        await until {
            screen.lines.contains("! No connection. Trying again…") && screen.lines.contains("? Bob: online")
        }
        presence.goOnline()
        await until { screen.lines.contains("● Bob: online") }
        run.cancel()
    }

    @Test func choosesAStatusAndAName() async {
        let (screen, run) = shown()
        await until { screen.profile.displayName == "Ana" }
        #expect(await screen.enter("status busy In a meeting"))
        await until { screen.lines[0].hasPrefix("ana (busy: In a meeting)") }
        #expect(await screen.enter("name Ana Silva"))
        #expect(users.updates == [ProfileChanges(displayName: "Ana Silva")])
        users.failure = PresenceError(
            .notConnected, sentence: "Failed to save the user. There is no connection to the server.")
        #expect(await screen.enter("name Bea"))
        #expect(screen.lines.contains("! Failed to save the user. There is no connection to the server."))
        #expect(await !screen.enter("quit"))
        run.cancel()
    }

    @Test func showsWhoTypesAndThatTheUserDoes() async {
        let (screen, run) = shown()
        await until { screen.roster.people.count == 2 }
        screen.open(conversation: "c1")
        presence.setTyping(["bob"], in: "c1")
        await until { screen.lines.last == "Bob is typing…" }
        #expect(await screen.enter("hel"))
        #expect(presence.calls.last == .startTyping("c1"))
        #expect(await screen.enter(""))
        #expect(presence.calls.last == .stopTyping("c1"))
        run.cancel()
    }

    @Test func changesTheList() async {
        let (screen, run) = shown()
        await until { screen.roster.people.count == 2 }
        #expect(await screen.enter("remove bob"))
        #expect(await screen.enter("add dan"))
        await until { screen.roster.people.map(\.user) == ["cy", "dan"] }
        run.cancel()
    }
}
