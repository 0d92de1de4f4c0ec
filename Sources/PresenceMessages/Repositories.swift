import PresenceKit

/// Messages, as an app's views and tests need them: ``PresenceMessages``, or a fake.
public protocol MessageRepository: Sendable {
    /// See ``PresenceMessages/send(_:)``.
    @discardableResult
    func send(_ message: Message) async throws -> Message
    /// See ``PresenceMessages/messages(in:)``.
    func messages(in conversation: String) -> PresenceUpdates<[Message]>
    func hasEarlier(in conversation: String) async -> Bool
    @discardableResult
    func loadEarlier(in conversation: String, limit: Int) async throws -> Bool
    func getMessages(in conversation: String, before sequence: Int64?, limit: Int) async throws -> [Message]
    func updateStatus(of message: Message, to status: MessageStatus) async
    @discardableResult
    func edit(_ message: Message, text: String) async throws -> Message
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
    func conversation(_ id: String) async throws -> ChatConversation
    func directConversation(with user: String, metadata: [String: JSONValue]?) async throws -> ChatConversation
    func createGroup(
        with users: [String], name: String?, metadata: [String: JSONValue]?, key: String
    ) async throws -> ChatConversation
    func markRead(in conversation: String, upTo sequence: Int64?) async
    func mute(_ conversation: String, for duration: Duration?) async throws
    func unmute(_ conversation: String) async throws
    func archive(_ conversation: String, _ isArchived: Bool) async throws
    func rename(_ conversation: String, to name: String) async throws
    func changeMembers(of conversation: String, add: [String], remove: [String]) async throws
    func leave(_ conversation: String) async throws
}

extension PresenceMessages: MessageRepository, ConversationRepository {}
