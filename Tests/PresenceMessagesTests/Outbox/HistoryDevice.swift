@testable import PresenceKit
@testable import PresenceMessages
@testable import PresenceTesting

/// A process of a history, with its client.
struct HistoryDevice {
    let client: PresenceClient
    let messages: PresenceMessenger
    let notifications: PresenceNotifications

    /// The requests that histories refuse.
    static let requests = ["send", "mark", "markNotifications", "conversationSettings"]

    init(_ server: InMemoryServer, _ writes: any WriteQueue) {
        client = server.client(as: "ana", storage: Storage(cache: PresenceCache(), writes: writes))
        messages = PresenceMessenger(client)
        notifications = PresenceNotifications(client)
        client.connect()
    }
}

extension InMemoryServer {
    /// With messages and notifications that can be read.
    static func withTwentyOfEach() -> InMemoryServer {
        let server = InMemoryServer.with()
        for number in 1...20 {
            server.write("\(number)")
            server.notify("\(number)")
        }
        return server
    }
}
