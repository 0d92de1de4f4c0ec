import PresenceTesting

@testable import PresenceKit
@testable import PresenceMessages

/// The parts that a screen of ana's app uses: her client and its messages, on a server in memory and a disk that can be full.
struct ModelScene {
    let server = InMemoryServer()
    let writes = FaultyWrites()
    let client: PresenceClient
    let messages: PresenceMessenger

    init() {
        server.add(conversation: "c1", of: ["ana", "bob"])
        client = server.client(as: "ana", storage: Storage(cache: PresenceCache(), writes: writes))
        messages = PresenceMessenger(client)
    }

    func connected() async {
        client.connect()
        for await state in client.connectionStates where state.isConnected { return }
    }

    /// Waits until the server has all messages.
    func settled() async {
        for await waiting in messages.waiting where waiting == 0 { return }
    }

    /// Breaks the connection, and waits until the client has noticed.
    func goOffline() async {
        server.goOffline()
        for await state in client.connectionStates where !state.isConnected { return }
    }

    func goOnline() async {
        server.goOnline()
        await connected()
    }
}
