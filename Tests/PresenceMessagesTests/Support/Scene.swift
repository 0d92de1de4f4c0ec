import Foundation

@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// A client with its messages, with a server in memory.
struct Scene {
    let server: InMemoryServer
    let client: PresenceClient
    let messages: PresenceMessenger
    let clock = TestClock()
    /// The transport of uploads.
    let transport = FakeHTTPTransport()

    /// - Parameters:
    ///   - user: the user named by the token. Without one the token names no user, and the server assumes ana.
    ///   - token: returns the token, instead of one that names `user`.
    init(
        _ server: InMemoryServer = InMemoryServer.with(), storage: Storage = .memory(), user: String? = nil,
        token provider: PresenceClient.TokenProvider? = nil,
        configuration messaging: PresenceMessenger.Configuration = PresenceMessenger.Configuration()
    ) {
        self.server = server
        var configuration = PresenceClient.Configuration()
        configuration.reconnectBase = .milliseconds(2)
        configuration.reconnectCap = .milliseconds(5)
        configuration.followsSystem = false
        let claims = user.map { Data(#"{"sub":"\#($0)"}"#.utf8).base64EncodedString() }
        let token = claims.map { "h.\($0).s" } ?? "t"
        client = PresenceClient(
            url: URL(string: "ws://example.org/v1/ws")!, token: provider ?? { token }, device: Device(),
            configuration: configuration, storage: storage, dialler: server, time: SystemTime(), random: { 0.5 })
        messages = PresenceMessenger(client, configuration: messaging, transport: transport, clock: clock)
    }

    func connected() async {
        client.connect()
        for await state in client.connectionStates where state.isConnected { return }
    }

    /// Waits until the list of a conversation's messages is as wanted.
    @discardableResult
    func list(_ conversation: String = "c1", _ isWanted: (MessageList) -> Bool) async -> [Message] {
        for await list in messages.messages(in: conversation) where isWanted(list) { return list.messages }
        return []
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// The first wanted element.
    func until(_ isWanted: (Element) -> Bool) async throws -> Element? {
        for try await element in self where isWanted(element) { return element }
        return nil
    }
}

/// Runs a body with an iterator of the sequence.
func watching<Element: Sendable>(
    _ sequence: PresenceUpdates<Element>, _ body: (inout PresenceUpdates<Element>.Iterator) async throws -> Void
) async rethrows {
    var iterator = sequence.makeAsyncIterator()
    try await body(&iterator)
}

extension PresenceUpdates.Iterator {
    /// Skips to the next wanted element.
    @discardableResult
    mutating func reaches(_ isWanted: (Element) -> Bool) async -> Element? {
        while let element = await next() {
            if isWanted(element) { return element }
        }
        return nil
    }
}
