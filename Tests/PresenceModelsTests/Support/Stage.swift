import PresenceKit
import PresenceTesting

/// A client of ana's app, on a server in memory.
struct Stage {
    let server = InMemoryServer()
    let client: PresenceClient

    init(_ people: Person...) {
        for person in people { server.set(person) }
        client = server.client(as: "ana")
    }

    func connected() async {
        client.connect()
        for await state in client.connectionStates where state.isConnected { return }
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

    /// The values of a member in the requests of a type.
    func requested<Value>(_ type: String, _ member: String, _ kind: Value.Type = Value.self) -> [Value?] {
        server.requests(type).map { $0[member] as? Value }
    }
}
