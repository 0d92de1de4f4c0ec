import Foundation
import PresenceKit

// The code of the documentation, compiled. What stands between the marks is what the pages show.

/// What the pages' code takes for granted.
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

    func making() -> PresenceClient {
        let account = account
        // <snippet>
        let client = PresenceClient(
            url: URL(string: "wss://presence.example.org/v1/ws")!,
            token: { try await account.presenceToken() },
            device: Device(id: account.deviceID, kind: .phone, name: "Ana's phone"))
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
            if let since = bob.freshness.staleSince { label += " (as of \(since))" }
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
            try await client.updateProfile(displayName: "Ana", offline: .queue)
        } catch let error as PresenceError where error.code == .validationFailed {
            label = "The server does not take that: \(error.field ?? "")"
        } catch {
            label = "That did not work. Please try again."
            print(error)
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
        label = found.map(\.user).joined(separator: ", ")

        // updateUser(fields)
        try await client.updateProfile(displayName: "Ana", photoURL: .set(URL(string: "https://example.org/ana.jpg")!))

        // updateOnlineStatus(false), for good
        await client.signOut()
        // </snippet>
    }
}

// <snippet>
actor FileCache: PresenceCache {
    private let file: URL
    private var people: [String: CachedPerson]

    init(file: URL) {
        self.file = file
        people = (try? JSONDecoder().decode([String: CachedPerson].self, from: Data(contentsOf: file))) ?? [:]
    }

    func read(_ users: [String]) -> [CachedPerson] { users.compactMap { people[$0] } }

    func write(_ newer: [CachedPerson]) {
        for person in newer { people[person.user] = person }
        try? JSONEncoder().encode(people).write(to: file)
    }

    func removeAll() {
        people = [:]
        try? FileManager.default.removeItem(at: file)
    }
}
// </snippet>
