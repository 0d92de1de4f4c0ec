import PresenceKit
import PresenceTesting
import RosterScreens
import Testing

/// The screen on a server in memory, and time that the test advances.
@MainActor @Suite(.timeLimit(.minutes(1)))
struct MainScreenTests {
    private let server = InMemoryServer()
    private let client: PresenceClient
    private let clock = TestClock()

    init() {
        server.set(.online("bob", name: "Bob"), .offline("cy", name: "Cy"))
        server.add(conversation: "c1", of: ["ana", "bob"])
        client = server.client(as: "ana")
    }

    private func shown() -> (screen: MainScreen, run: Task<Void, Never>) {
        let screen = MainScreen(client, users: client, user: "ana", friends: ["bob", "cy"], clock: clock)
        return (screen, Task { await screen.run() })
    }

    @Test func showsWhoIsHere() async {
        let (screen, run) = shown()
        await until { screen.lines == ["ana (auto) — 1 of 2 here", "● Bob: online", "○ Cy: offline"] }
        server.set(.online("cy", name: "Cy", status: .busy, text: "lunch"))
        await until { screen.lines.contains("● Cy: lunch") }
        run.cancel()
    }

    @Test func saysThatItIsOffline() async {
        let (screen, run) = shown()
        await until { screen.lines.count == 3 }
        server.goOffline()
        await until {
            screen.lines.contains("! No connection. Trying again…") && screen.lines.contains("? Bob: online")
        }
        server.goOnline()
        await until { screen.lines.contains("● Bob: online") }
        run.cancel()
    }

    @Test func choosesAStatusAndAName() async throws {
        try await client.updateProfile(ProfileChanges(displayName: "Ana"))
        let (screen, run) = shown()
        await until { screen.profile.displayName == "Ana" }
        #expect(await screen.enter("status busy In a meeting"))
        await until { screen.lines[0].hasPrefix("Ana (busy: In a meeting)") }
        #expect(await screen.enter("name Ana Silva"))
        let changes = server.requests("updateProfile").last?["changes"] as? [String: any Sendable]
        #expect(changes?.count == 1 && changes?["displayName"] as? String == "Ana Silva")
        server.fail("updateProfile", with: PresenceError(.forbidden))
        #expect(await screen.enter("name Bea"))
        #expect(screen.lines.contains("! Failed to save the user. You are not allowed to do that."))
        #expect(await !screen.enter("quit"))
        run.cancel()
    }

    @Test func showsWhoTypesAndThatTheUserDoes() async {
        let (screen, run) = shown()
        await until { screen.roster.people.count == 2 }
        screen.open(conversation: "c1")
        server.setTyping(["bob"], in: "c1")
        await until { screen.lines.last == "Bob is typing…" }
        #expect(await screen.enter("hel"))
        await server.received("typing")
        #expect(await screen.enter(""))
        await server.received("typing", count: 2)
        #expect(server.requests("typing").map { $0["typing"] as? Bool } == [true, false])
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
