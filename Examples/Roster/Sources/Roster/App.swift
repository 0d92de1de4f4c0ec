import Foundation
import Observation
import PresenceKit
import RosterScreens

@main
struct App {
    @MainActor
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2, let url = URL(string: arguments[0]) else {
            print("usage: Roster ws://SERVER/v1/ws TOKEN FRIEND …")
            exit(64)
        }
        // One client for the app. Its storage survives the process; when another user launches the app, that data is
        // removed.
        let client = PresenceClient(
            url: url, token: arguments[1], device: Device(name: "Roster"), storage: try .standard("roster-example"))
        client.connect()
        let user = try await signedInUser(client)
        let screen = MainScreen(client, users: client, user: user, friends: Array(arguments.dropFirst(2)))
        let running = Task { await screen.run() }
        let drawing = Task { await draw(screen) }
        for await line in lines() {
            if let friend = line.wholeMatch(of: /with (.+)/)?.output.1 {
                await open(String(friend), screen, client)
            } else if await !screen.enter(line) {
                break
            }
        }
        running.cancel()
        drawing.cancel()
        await client.disconnect()
    }

    /// Returns the signed-in user, as confirmed by the server. Without a connection it is the user of the last launch,
    /// who may differ.
    private static func signedInUser(_ client: PresenceClient) async throws -> String {
        for await state in client.connectionStates {
            switch state {
            case .idle, .connecting: continue
            case .live, .stale:
                for await me in client.meUpdates {
                    if let user = me.user { return user }
                }
            case .reconnecting(_, let error):
                if let user = await client.me.user { return user }
                print("! \(error.localizedDescription) Trying again…")
            case .closed(let error): throw error ?? PresenceError(.notConnected, "the client is closed")
            }
        }
        throw CancellationError()
    }

    /// Opens one conversation for each friend, also when called again.
    @MainActor
    private static func open(_ friend: String, _ screen: MainScreen, _ client: PresenceClient) async {
        do {
            // A key has at most 64 bytes, an id up to 128. So the key is a hash of the id (FNV-1a), the same at every
            // launch.
            let hash = friend.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            let key = "with-\(String(hash, radix: 16))"
            screen.open(conversation: try await client.createConversation(with: [friend], key: key).id)
        } catch {
            print("! \(error.localizedDescription)")
        }
    }

    /// Draws the screen when something on it changed.
    @MainActor
    private static func draw(_ screen: MainScreen) async {
        while !Task.isCancelled {
            await withCheckedContinuation { (changed: CheckedContinuation<Void, Never>) in
                let lines = withObservationTracking {
                    screen.lines
                } onChange: {
                    changed.resume()
                }
                print("\n" + lines.joined(separator: "\n"))
            }
            // `onChange` is called before the change is made.
            await Task.yield()
        }
    }

    private static func lines() -> AsyncStream<String> {
        let (lines, line) = AsyncStream<String>.makeStream()
        Thread.detachNewThread {
            while let text = readLine() { line.yield(text) }
            line.finish()
        }
        return lines
    }
}
