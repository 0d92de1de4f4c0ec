import Foundation
import PresenceKit
import PresenceMessages

// @unchecked: `state` is only touched with the lock.
/// Conversations and messages in memory, and a record of the calls. Implements both repositories, with the server's
/// rules.
///
/// ```swift
/// let fake = FakeMessages(user: "ana", conversations: [ChatConversation(id: "c1", kind: .direct, participants: ["ana", "bob"])])
/// let model = ConversationModel(conversation: "c1", user: "ana", messages: fake, typing: FakePresence())
/// fake.receive("Hello", from: "bob", in: "c1")
/// ```
///
/// While it ``isOffline``, messages, edits, deletions and settings are queued as in the outbox, marks are accepted, a
/// conversation has its last known value, and all other calls fail with `notConnected`. Changes of other users show
/// with the next connection.
public final class FakeMessages: @unchecked Sendable {
    /// A call of the fake.
    public enum Call: Hashable, Sendable {
        case send(String, in: String)
        case upload(AttachmentFile, to: String)
        case retry(String)
        case discard(String)
        case edit(String, text: String)
        case delete(String)
        case loadEarlier(String)
        case getMessages(String, before: Int64?)
        case updateStatus(String, MessageStatus)
        case conversation(String)
        case directConversation(String)
        case createGroup([String], name: String?)
        case markRead(String, upTo: Int64?)
        case mute(String, Duration?)
        case unmute(String)
        case archive(String, Bool)
        case rename(String, String)
        case changeMembers(String, add: [String], remove: [String])
        case leave(String)
        case registerDevice(PushDevice)
        case removeDevice
    }

    struct Talk {
        var conversation: ChatConversation
        /// The messages on the server; their numbers start at 1.
        var log: [Message] = []
        /// Messages that are pending or have failed.
        var outbox: [Message] = []
        /// How many of the oldest messages are not shown yet.
        var hidden = 0
        let feed = Feed<[Message]>([])
    }

    struct State {
        /// The values on the server.
        var talks: [String: Talk] = [:]
        /// The values when the connection was lost, with the user's own later marks; `nil` while there is a connection.
        var lastKnown: [String: Talk]?
        var calls: [Call] = []
        var failures: [(matches: @Sendable (Call) -> Bool, error: any Error)] = []
        var refusals: [PresenceError] = []
        /// Queued changes, in order.
        var changes: [MessageChange] = []
        var changeRefusals: [PresenceError] = []
        var refusedChanges: [MessageChange] = []
        var isOffline: Bool { lastKnown != nil }
        var delay: Duration?
        /// By the creator's key.
        var keys: [String: String] = [:]
        var lastID = 0
        var uploads = 0
        /// The push registration: the app's wish, and the server's value.
        var wantedDevice: PushDevice?
        var device: PushDevice?
        var version: Int64 = 0
        var seconds: TimeInterval = 0
    }

    /// The signed-in user.
    public let user: String
    /// The clock of ``delay``.
    public let clock: TestClock
    let lock = NSLock()
    var state = State()
    let list = Feed<[ChatConversation]>()
    let refused = Feed<[MessageChange]>([])

    /// The fake's start time; each message is one second later.
    public static let beginning = Date(timeIntervalSince1970: 1_763_712_000)

    /// Creates a fake whose server has these conversations, without messages.
    public init(user: String = "me", conversations: [ChatConversation] = [], clock: TestClock = TestClock()) {
        self.user = user
        self.clock = clock
        for conversation in conversations { state.talks[conversation.id] = Talk(conversation: seen(conversation)) }
        publish()
    }

    // MARK: For assertions

    /// All calls, in order.
    public var calls: [Call] { lock.withLock { state.calls } }

    /// The server's conversation; `nil` if there is none.
    public subscript(id: String) -> ChatConversation? {
        lock.withLock {
            guard let conversation = state.talks[id]?.conversation, !conversation.participants.isEmpty else {
                return nil
            }
            return conversation
        }
    }

    /// The texts on the server, oldest first.
    public func texts(in conversation: String) -> [String] {
        lock.withLock { state.talks[conversation]?.log.map(\.text) ?? [] }
    }

    // MARK: The script

    /// Another user sends a message.
    @discardableResult
    public func receive(_ text: String, from sender: String, in conversation: String) -> Message {
        let message = lock.withLock {
            store(Message(conversationId: conversation, senderId: sender, text: text))
        }
        publish(conversation)
        return message
    }

    /// Sets another member's marks.
    public func mark(_ user: String, delivered: Int64 = 0, read: Int64 = 0, in conversation: String) {
        lock.withLock { move(user, delivered: delivered, read: read, in: conversation) }
        publish(conversation)
    }

    /// Sets a conversation, and adds it if needed.
    public func set(_ conversation: ChatConversation) {
        let conversation = seen(conversation)
        lock.withLock {
            state.talks[conversation.id, default: Talk(conversation: conversation)].conversation = conversation
        }
        publish(conversation.id)
    }

    /// Hides this number of the oldest messages until ``MessageRepository/loadEarlier(in:limit:)``.
    public func hide(_ count: Int, in conversation: String) {
        lock.withLock { state.talks[conversation]?.hidden = count }
        publish(conversation)
    }

    /// Makes the next matching call fail with `error`.
    public func fail(_ matches: @escaping @Sendable (Call) -> Bool = { _ in true }, with error: any Error) {
        lock.withLock { state.failures.append((matches, error)) }
    }

    /// The server rejects the next message, which is then shown as failed.
    public func refuseNextMessage(_ error: PresenceError = PresenceError(.forbidden, "refused by the test")) {
        lock.withLock { state.refusals.append(error) }
    }

    /// The server rejects the next queued change.
    public func refuseNextChange(_ error: PresenceError = PresenceError(.forbidden, "refused by the test")) {
        lock.withLock { state.changeRefusals.append(error) }
    }

    /// Whether there is no connection. Setting it to `false` sends pending messages and changes.
    public var isOffline: Bool {
        get { lock.withLock { state.isOffline } }
        set {
            let talks = lock.withLock { () -> [String] in
                guard newValue != state.isOffline else { return [] }
                state.lastKnown = newValue ? state.talks : nil
                return Array(state.talks.keys)
            }
            if !newValue { lock.withLock { state.device = state.wantedDevice } }
            for id in talks { lock.withLock { drain(id) } }
            if !newValue, !talks.isEmpty { publishRefused(lock.withLock { makeChanges() }) }
            for id in talks { publish(id) }
        }
    }

    /// The duration of calls, by ``clock``; `nil`: none.
    public var delay: Duration? {
        get { lock.withLock { state.delay } }
        set { lock.withLock { state.delay = newValue } }
    }
}
