import Foundation
import PresenceKit
import PresenceTesting
import Testing

// The code of the documentation, compiled. The pages show the text between the marks.

/// Declarations that the pages' code uses without showing them.
@MainActor
private final class Screen {
    let client = PresenceClient(url: URL(string: "wss://presence.example.org/v1/ws")!, token: "")
    let account = Account()
    let friends = ["bob", "cy"]
    var label = ""
    var title = ""
    var banner = ""
    var rows: [String: String] = [:]

    func show(_ text: String, dimmed: Bool) { label = text }
}

private struct Account {
    let deviceID = "phone-1"
    func presenceToken() async throws -> String { "" }
}

private func fetchToken() async throws -> String { "" }

extension Screen {
    func overview() async {
        // <snippet>
        let client = PresenceClient(
            url: URL(string: "wss://presence.example.org/v1/ws")!, token: { try await fetchToken() })

        for await bob in client.presence(of: "bob") {
            show(bob.isOnline ? "online" : "offline", dimmed: !bob.freshness.isLive)
        }
        // </snippet>
    }

    func making() throws -> PresenceClient {
        let account = account
        // <snippet>
        let client = PresenceClient(
            url: URL(string: "wss://presence.example.org/v1/ws")!,
            token: { try await account.presenceToken() },
            device: Device(kind: .phone, name: "Ana's phone"), storage: try .standard())
        // </snippet>
        return client
    }

    func onePerson() async {
        // <snippet>
        for await bob in client.presence(of: "bob") {
            switch bob.status {
            case .online: label = "online"
            case .away: label = "away"
            case .busy: label = bob.text ?? "busy"
            case .offline: label = bob.lastSeen.map { "last seen \($0)" } ?? "offline"
            }
            if !bob.freshness.isLive { label += " …" }
        }
        // </snippet>
    }

    func list() async {
        // <snippet>
        for await roster in client.roster(of: friends) {
            for user in roster.changed {
                rows[user] = roster[user].map { "\($0.displayName ?? user): \($0.presence.status)" }
            }
            title = "\(roster.online.count) of \(roster.users.count) are here"
        }
        // </snippet>
    }

    func oneself() async {
        // <snippet>
        do {
            try await client.setStatus(.busy, text: "In a meeting", clearAfter: .seconds(3600))
            try await client.updateProfile(displayName: "Ana", locale: nil)
        } catch let error as PresenceError where error.code == .validationFailed {
            label = "\(error.field ?? ""): \(error.localizedDescription)"
        } catch {
            label = error.localizedDescription
        }
        // </snippet>
        // <snippet>
        for await me in client.meUpdates {
            title = me.profile?.displayName ?? me.user ?? ""
            label = me.status?.text ?? ""
        }
        // </snippet>
    }

    func typing() async throws {
        // <snippet>
        let conversation = try await client.createConversation(with: ["bob"])
        client.startTyping(in: conversation.id)
        client.stopTyping(in: conversation.id)

        for await typing in client.typing(in: conversation.id) {
            label = typing.users.isEmpty ? "" : typing.users.joined(separator: ", ") + " …"
        }
        // </snippet>
    }

    // <snippet>
    func scenePhaseChanged(isActive: Bool) {
        if isActive {
            client.enterForeground()
        } else {
            client.enterBackground()
        }
    }
    // </snippet>

    func connection() async {
        // <snippet>
        for await state in client.connectionStates {
            switch state {
            case .idle, .connecting: banner = "Connecting …"
            case .live: banner = ""
            case .stale: banner = "The server is catching up"
            case .reconnecting(let delay, _): banner = "Back in \(delay.formatted())"
            case .closed(nil): banner = "Signed out"
            case .closed(let error?) where error.code == .unauthorized: banner = "Please sign in again"
            case .closed: banner = "Not connected"
            }
        }
        // </snippet>
    }

    func firebase() async throws {
        // <snippet>
        // observeUserPresence(id) { … } and removing its handle
        let watching = Task {
            for await bob in client.presence(of: "bob") { label = bob.isOnline ? "online" : "offline" }
        }
        watching.cancel()

        // getUser(id): not found is nil
        if let bob = try await client.person("bob") { label = bob.displayName ?? bob.user }

        // getUsers(ids): those found
        let found = try await client.people(["bob", "cy", "nobody"])
        label = found.map(\.user).joined(separator: ", ") + " without " + found.missing.joined(separator: ", ")

        // updateUser(fields)
        try await client.updateProfile(displayName: "Ana", photoURL: .set(URL(string: "https://example.org/ana.jpg")!))

        // updateOnlineStatus(false), for good
        await client.signOut()
        // </snippet>
    }
}

extension Screen {
    func staleness() async {
        // <snippet>
        for await bob in client.updates(of: "bob") {
            label = bob.displayName ?? bob.user
            if let since = bob.freshness.staleSince, since > .distantPast { label += " (as of \(since))" }
            if let problem = bob.problem { banner = problem.localizedDescription }
        }
        // </snippet>
    }

    func storage() async throws {
        // <snippet>
        let client = PresenceClient(
            url: URL(string: "wss://presence.example.org/v1/ws")!, token: { try await fetchToken() },
            storage: try .standard(), logger: PresenceLogger { level, message in print(level, message) })
        // </snippet>
        // <snippet>
        let people = try await client.people(["bob", "cy", "nobody"])
        label = people.map { $0.displayName ?? $0.user }.joined(separator: ", ")
        if !people.unanswered.isEmpty { banner = "\(people.unanswered.count) could not be loaded" }
        // </snippet>
    }

    func models(_ server: URL) throws -> [any Sendable] {
        // <snippet>
        let client = PresenceClient(url: server, token: { try await fetchToken() }, storage: try .standard())
        let roster = RosterModel(client, users: friends)
        let connection = ConnectionModel(client)
        let profile = ProfileModel(user: "ana", users: client)
        // </snippet>
        return [roster, connection, profile]
    }

    func ownSequences() -> [any Sendable] {
        // <snippet>
        let still = PresenceUpdates([Roster(["bob"])])
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let counted = PresenceUpdates(stream.map { "\($0) messages" })
        // </snippet>
        return [still, counted, continuation]
    }
}

/// The examples of the page on testing, which are tests.
@Suite(.timeLimit(.minutes(1))) struct TestingExamples {
    // <snippet>
    @MainActor @Test func showsWhoIsHere() async {
        let server = InMemoryServer()
        server.set(.online("bob", name: "Bob"), .offline("cy", name: "Cy"))
        let model = RosterModel(server.client(as: "ana"), users: ["bob", "cy"])
        let run = Task { await model.run() }
        await until { model.online.map(\.user) == ["bob"] }

        server.set(.online("cy", name: "Cy"))
        await until { model.online.map(\.user) == ["bob", "cy"] }

        server.goOffline()
        await until { !model.freshness.isLive }
        run.cancel()
    }
    // </snippet>

    // <snippet>
    @MainActor @Test func tellsWhatWentWrong() async {
        let server = InMemoryServer()
        let model = MeModel(server.client(as: "ana"))
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        server.fail("status", with: PresenceError(.forbidden, "no"))
        await model.choose(.busy)
        #expect(model.errorMessage == "You are not allowed to do that.")

        server.delay = .seconds(2)
        let choice = Task { await model.choose(.busy) }
        await server.received("status", count: 2)
        #expect(model.isSaving)
        server.clock.advance(by: .seconds(2))
        await choice.value
        #expect(model.errorMessage == nil)
        run.cancel()
    }
    // </snippet>
}

// The part of SwiftUI that the page on views uses, because Linux has no SwiftUI.
protocol View {
    associatedtype Body: View
    @MainActor var body: Body { get }
}
extension Never: View { var body: Never { fatalError("drawn by the system") } }
struct Text: View {
    init(_ text: String) {}
    var body: Never { fatalError("drawn by the system") }
}
struct List<Data: RandomAccessCollection, Row: View>: View where Data.Element: Identifiable {
    init(_ data: Data, row: (Data.Element) -> Row) {}
    var body: Never { fatalError("drawn by the system") }
}
extension View {
    func task(_ action: @escaping @Sendable () async -> Void) -> some View { self }
}

// <snippet>
struct FriendsScreen: View {
    let model: RosterModel

    var body: some View {
        List(model.people) { person in
            Text(person.displayName ?? person.user)
        }
        .task { await model.run() }
    }
}
// </snippet>
