import PresenceKit

/// Messages, as an app's views and tests need them: ``PresenceMessages``, or a fake.
public protocol MessageRepository: Sendable {
    /// See ``PresenceMessages/send(_:)``.
    @discardableResult
    func send(_ message: Message) async throws -> Message
    /// See ``PresenceMessages/upload(_:to:)``, also for what the stream throws.
    func upload(_ file: AttachmentFile, to conversation: String) -> AsyncThrowingStream<AttachmentUpload, any Error>
    /// See ``PresenceMessages/messages(in:)``.
    func messages(in conversation: String) -> PresenceUpdates<MessageList>
    /// Whether there may be messages before those that ``messages(in:)`` shows.
    func hasEarlier(in conversation: String) async -> Bool
    /// Adds the page before the oldest message that is shown, of 1 to 100; whether there may be more. It needs a
    /// connection.
    @discardableResult
    func loadEarlier(in conversation: String, limit: Int) async throws -> Bool
    /// A page of 1 to 100 messages, oldest first, without following them. It needs a connection.
    func getMessages(in conversation: String, before sequence: Int64?, limit: Int) async throws -> [Message]
    /// Moves the status of somebody else's message forward for the own user: `delivered` or `read`.
    func updateStatus(of message: Message, to status: MessageStatus) async
    /// Replaces the text of an own message: see ``PresenceMessages/edit(_:text:)``, also for what it throws.
    @discardableResult
    func edit(_ message: Message, text: String) async throws -> Message
    /// Empties a message and keeps its place: see ``PresenceMessages/delete(_:)``, also for what it throws.
    @discardableResult
    func delete(_ message: Message) async throws -> Message
    /// See ``PresenceMessages/refusedChanges``.
    var refusedChanges: PresenceUpdates<[MessageChange]> { get }
    /// Sends a message again that has failed, or makes a refused change again.
    func retry(_ id: String) async throws
    /// Drops a message that has failed, or a refused change.
    func discard(_ id: String) async throws
}

/// Conversations, as an app's views and tests need them: ``PresenceMessages``, or a fake.
public protocol ConversationRepository: Sendable {
    /// See ``PresenceMessages/conversationList``.
    var conversationList: PresenceUpdates<[ChatConversation]> { get }
    /// A conversation as it is now, or was last known: see ``PresenceMessages/conversation(_:)``, also for what it
    /// throws.
    func conversation(_ id: String) async throws -> ChatConversation
    /// The conversation of the own user with one other, made if there is none. It needs a connection.
    func directConversation(with user: String, metadata: [String: JSONValue]?) async throws -> ChatConversation
    /// Makes a group, or finds the one that was made with the same key: see
    /// ``PresenceMessages/createGroup(with:name:metadata:key:)``.
    func createGroup(
        with users: [String], name: String?, metadata: [String: JSONValue]?, key: String
    ) async throws -> ChatConversation
    /// Notes that the user has read a conversation, up to a message or up to the newest that is known here.
    func markRead(in conversation: String, upTo sequence: Int64?) async
    /// Mutes a conversation, for at most 366 days or until ``unmute(_:)``: see ``PresenceMessages/mute(_:for:)``.
    func mute(_ conversation: String, for duration: Duration?) async throws
    /// Takes ``mute(_:for:)`` back.
    func unmute(_ conversation: String) async throws
    /// Archives a conversation, or takes that back: see ``PresenceMessages/archive(_:_:)``.
    func archive(_ conversation: String, _ isArchived: Bool) async throws
    /// Names a group anew; an empty name removes it. It needs a connection, and throws `forbidden` for a direct
    /// conversation.
    func rename(_ conversation: String, to name: String) async throws
    /// Adds people to a group, and removes some. It needs a connection, and throws `forbidden` or `tooMany` as the
    /// server's rules say.
    func changeMembers(of conversation: String, add: [String], remove: [String]) async throws
    /// Leaves a group. It needs a connection.
    func leave(_ conversation: String) async throws
}

/// Where this device is pushed to, as an app's code and tests need it: ``PresenceMessages``, or a fake.
public protocol DeviceRepository: Sendable {
    /// Lets this device be pushed to, also by later sessions: see ``PresenceMessages/registerDevice(_:)``, also for what it
    /// throws. Whether the server has it; `false` if it is told later.
    @discardableResult
    func registerDevice(_ device: PushDevice) async throws -> Bool
    /// Lets this device be pushed to no more: see ``PresenceMessages/removeDevice()``, also for what it throws. Whether the
    /// server knows; `false` if it is told later.
    @discardableResult
    func removeDevice() async throws -> Bool
}

extension PresenceMessages: MessageRepository, ConversationRepository, DeviceRepository {}
