import Foundation
import PresenceKit
import PresenceMessages

/// One client, and the state that it shows.
final class Member: Sendable {
    let client: PresenceClient
    private let messages: PresenceMessenger
    private let name: String

    init(_ name: String, _ order: Order) {
        self.name = name
        var configuration = PresenceClient.Configuration()
        // As quick as the servers that the driver starts: their linger is a second or two.
        configuration.connectTimeout = .seconds(2)
        configuration.requestTimeout = .seconds(5)
        configuration.reconnectBase = .milliseconds(100)
        configuration.reconnectCap = .milliseconds(500)
        client = PresenceClient(
            url: order.url!, token: order.token!, device: Device(id: "\(name)-device", kind: .phone),
            configuration: configuration)
        messages = PresenceMessenger(client)
        let client = client
        Task {
            for await state in client.connectionStates { Report(client: name, state: Self.word(state)).write() }
        }
        let users = order.watch ?? []
        Task {
            for await roster in client.roster(of: users) {
                for user in roster.changed {
                    guard let person = roster[user], person.freshness.isLive || person.presence.isKnown else {
                        continue
                    }
                    Report(client: name, person).write()
                }
            }
        }
    }

    func choose(_ status: ChosenStatus, number: Int) {
        Task { [client, name] in
            let isDone = (try? await client.setStatus(status)) == .saved
            Report(client: name, number: number, saved: isDone).write()
        }
    }

    func rename(_ displayName: String, number: Int) {
        Task { [client, name] in
            let update = try? await client.updateProfile(displayName: .set(displayName), offline: .fail)
            Report(client: name, number: number, saved: update != nil).write()
        }
    }

    /// From now on it reports its messages of a conversation.
    func follow(_ conversation: String) {
        Task { [messages, name] in
            for await list in messages.messages(in: conversation) {
                Report(client: name, conversation, list.messages).write()
            }
        }
    }

    /// Sends a message, with a connection or without: it is stored, and sent when possible.
    func send(_ order: Order) {
        Task { [messages, name] in
            let message = Message(
                id: order.message ?? "", conversationId: order.conversation ?? "", senderId: name,
                text: order.text ?? "")
            let kept = try? await messages.send(message)
            Report(client: name, number: order.number, saved: kept != nil).write()
        }
    }

    private static func word(_ state: ConnectionState) -> String {
        switch state {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .stale: "stale"
        case .reconnecting: "reconnecting"
        case .closed: "closed"
        }
    }
}

/// A line to the driver.
struct Report: Encodable {
    var at = Date().timeIntervalSince1970
    var client: String
    var state: String?
    var user: String?
    var status: String?
    var version: Int64?
    var name: String?
    var live: Bool?
    var number: Int?
    var saved: Bool?
    var conversation: String?
    var log: [String]?
    var failed: String?

    /// One line at a time, whole.
    private static let lock = NSLock()

    func write() {
        guard var line = try? JSONEncoder().encode(self) else { return }
        line.append(UInt8(ascii: "\n"))
        Self.lock.withLock { FileHandle.standardOutput.write(line) }
    }
}

extension Report {
    init(client: String, _ conversation: String, _ list: [Message]) {
        self.init(
            client: client, conversation: conversation,
            log: list.compactMap { message in message.sequence.map { "\($0) \(message.id)" } },
            failed: list.first { $0.status == .failed }.map { "\($0.id): \($0.failure?.message ?? "")" })
    }

    init(client: String, _ person: Person) {
        self.init(
            client: client, user: person.user, status: person.presence.status.rawValue,
            version: person.presence.version, name: person.displayName, live: person.freshness.isLive)
    }
}
