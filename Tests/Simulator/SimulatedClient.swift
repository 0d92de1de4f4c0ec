import PresenceProtocol
import WebSockets

@testable import PresenceCore
@testable import PresenceServer

/// A client on one of the simulated shards. It follows the protocol, and records all messages.
final class SimulatedClient {
    let user: String
    private unowned let world: World
    private weak var shard: SimulatedShard?
    private var socket: SocketID?
    private(set) var received: [ServerMessage] = []
    /// The messages in their original form.
    private(set) var texts: [String] = []
    /// The number of writes that carried them.
    private(set) var writes = 0
    /// The state that it would show.
    private(set) var presences: [UserID: Presence] = [:]
    private(set) var profiles: [UserID: ProfileRegister] = [:]
    private(set) var isStale = false
    /// The typing users of each conversation.
    private(set) var typing: [ConversationID: ServerMessage.TypingEvent] = [:]
    /// Its user's choice, by the server's messages.
    private(set) var ownStatus: OwnStatus?
    /// The session that it has now.
    private(set) var session: String?
    private(set) var closeCode: CloseCode?
    private(set) var closeReason = ""
    /// Called with every message, after it was processed.
    var onMessage: (ServerMessage) -> Void = { _ in }
    /// Called when the server closed the connection.
    var onClose: (CloseCode) -> Void = { _ in }
    var answersPings = true
    /// Reads nothing: written bytes stay pending.
    var isSlow = false
    private var requests: Int64 = 0
    /// The time of issue in its tokens.
    var issuedAt: Timestamp?
    /// A token made by a server.
    var signedToken: String?

    init(_ user: String, in world: World) {
        self.user = user
        self.world = world
    }

    var isConnected: Bool { socket != nil }
    /// Connected, and not vanished.
    var canSpeak: Bool { socket != nil && answersPings }

    @discardableResult
    func connect(
        to shard: SimulatedShard, device: String? = nil, kind: DeviceKind = .other, activity: Activity = .active,
        status: StatusChange? = nil
    ) throws -> Self {
        let before = received.count
        dial(shard, device: device, kind: kind, activity: activity, status: status)
        try world.run(until: "\(user) is connected") {
            closeCode != nil || received[before...].contains { if case .connected = $0 { true } else { false } }
        }
        return self
    }

    /// Opens a connection without sending anything.
    func open(on shard: SimulatedShard) {
        self.shard = shard
        closeCode = nil
        session = nil
        isStale = false
        socket = shard.accept(self)
    }

    /// The same, with any outcome.
    func dial(
        _ shard: SimulatedShard, device: String? = nil, kind: DeviceKind = .other, activity: Activity = .active,
        status: StatusChange? = nil
    ) {
        open(on: shard)
        send(
            .connect(
                .init(
                    token: token, device: .init(id: device.flatMap { DeviceID($0) }, kind: kind), activity: activity,
                    status: status)))
    }

    /// The id of the next request, whose answer may arrive before `send` returns.
    var nextRequest: Int64 { requests + 1 }

    /// Returns the request's id, or `nil` if there is no connection.
    @discardableResult
    func send(_ body: ClientMessage.Body) -> Int64? {
        guard let socket, let shard, answersPings else { return nil }
        requests = nextRequest
        shard.deliver(ClientMessage(id: requests, body).encoded(), from: socket)
        return requests
    }

    func introduce() { send(.connect(.init(token: token))) }

    var token: String { signedToken ?? issuedAt.map { "\(user)#\($0)" } ?? user }

    func sendText(_ text: String) {
        guard let socket, let shard else { return }
        shard.deliver(Array(text.utf8), from: socket)
    }

    /// Watches users and waits for their snapshot.
    @discardableResult
    func watch(_ users: String...) throws -> Self {
        let before = received.count
        send(.subscribe(.init(users: users.map { UserID($0)! })))
        try world.run(until: "\(user) has a snapshot") {
            received[before...].contains { if case .subscribed = $0 { true } else { false } }
        }
        return self
    }

    func status(of user: String) -> PresenceStatus? { presences[UserID(user)!]?.status }

    /// The statuses of a person that were shown since `index` of `received`.
    func shown(_ user: String, since index: Int = 0) -> [PresenceStatus] {
        received[index...].compactMap {
            if case .presence(let id, let presence, _) = $0, id.string == user { presence.status } else { nil }
        }
    }

    // MARK: Ends

    func close(code: UInt16?) {
        guard let socket else { return }
        self.socket = nil
        shard?.hangUp(socket, code: code)
    }

    /// The line breaks, and the server notices.
    func lost() {
        guard let socket else { return }
        self.socket = nil
        shard?.hangUp(socket, code: nil)
    }

    /// The device disappears without a close: the server must detect it.
    func vanish() { answersPings = false }

    func closed(by code: CloseCode, reason: String) {
        socket = nil
        closeCode = code
        closeReason = reason
        onClose(code)
    }

    // MARK: Receiving

    func receive(_ bytes: [UInt8]) -> WriteResult {
        writes += 1
        for payload in Self.messages(in: bytes) {
            texts.append(String(decoding: payload, as: UTF8.self))
            guard let message = try? ServerMessage.decode(payload) else { continue }
            received.append(message)
            apply(message)
            onMessage(message)
        }
        return isSlow ? .congested : .written
    }

    func readsAgain() {
        isSlow = false
        if let socket { shard?.drained(socket) }
    }

    private func apply(_ message: ServerMessage) {
        switch message {
        case .connected(_, let connected):
            session = connected.session
            ownStatus = connected.status
        case .ownStatus(let status): ownStatus = status
        case .typing(let event):
            if event.version == 0 || event.version > typing[event.conversation]?.version ?? -1 {
                typing[event.conversation] = event
            }
        case .subscribed(_, let users, let conversations, _):
            for each in conversations {
                typing[each.conversation] = .init(
                    conversation: each.conversation, version: each.version, users: each.typing)
            }
            for snapshot in users {
                if let presence = snapshot.presence { presences[snapshot.user] = presence }
                if let profile = snapshot.profile { profiles[snapshot.user] = profile }
            }
        case .presence(let user, let presence, _):
            if presence.version == 0 || presence.version > presences[user]?.version ?? -1 {
                presences[user] = presence
            }
        case .profile(let user, let profile, _):
            if profile.version == 0 || profile.version > profiles[user]?.version ?? -1 { profiles[user] = profile }
        case .stale: isStale = true
        case .live: isStale = false
        default: break
        }
    }

    /// The text frames of one write of a server.
    private static func messages(in bytes: [UInt8]) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var index = 0
        while index + 1 < bytes.count {
            var length = Int(bytes[index + 1])
            var start = index + 2
            if length == 126 {
                length = Int(bytes[start]) << 8 | Int(bytes[start + 1])
                start += 2
            } else if length == 127 {
                length = bytes[start..<start + 8].reduce(0) { $0 << 8 | Int($1) }
                start += 8
            }
            messages.append(Array(bytes[start..<start + length]))
            index = start + length
        }
        return messages
    }
}

extension ProfileRegister {
    var version: Int64 { if case .profile(let profile) = self { profile.version } else { 0 } }
}
