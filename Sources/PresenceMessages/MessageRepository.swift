import PresenceKit

/// Messages, conversations and this device's pushes, for an app's views and tests: ``PresenceMessenger`` or a fake.
public protocol MessageRepository: Sendable {
    // MARK: Messages

    /// See ``PresenceMessenger/send(_:)``.
    @discardableResult
    func send(_ message: Message) async throws -> Message
    /// Uploads a file: see ``PresenceMessenger/upload(_:to:)``, also for the errors of the stream.
    func upload(_ file: AttachmentFile, to conversation: String) -> AsyncThrowingStream<
        Upload<MessageAttachment>, any Error
    >
    /// See ``PresenceMessenger/messages(in:)``.
    func messages(in conversation: String) -> PresenceUpdates<MessageList>
    /// Whether there may be messages before the first one in ``messages(in:)``.
    func hasEarlier(in conversation: String) async -> Bool
    /// Loads the page of 1 to 100 messages before the oldest shown one; returns whether there may be more. It needs a
    /// connection.
    @discardableResult
    func loadEarlier(in conversation: String, limit: Int) async throws -> Bool
    /// Reads a page of 1 to 100 messages, oldest first, without subscribing. It needs a connection.
    func getMessages(in conversation: String, before sequence: Int64?, limit: Int) async throws -> [Message]
    /// Returns a message that this device knows: one of an observed conversation, one that is being sent, or the newest
    /// of a conversation. It makes no request.
    func message(_ id: String) async -> Message?
    /// Advances the status of another user's message to `delivered` or `read`.
    func updateStatus(of message: Message, to status: MessageStatus) async
    /// Replaces the text of the user's own message: see ``PresenceMessenger/edit(_:text:)``, also for its errors.
    @discardableResult
    func edit(_ message: Message, text: String) async throws -> Message
    /// Deletes the content of a message and keeps its place: see ``PresenceMessenger/delete(_:)``, also for its errors.
    @discardableResult
    func delete(_ message: Message) async throws -> Message
    /// See ``PresenceMessenger/refusedChanges``.
    var refusedChanges: PresenceUpdates<[MessageChange]> { get }
    /// Sends a failed message again, or makes a rejected change again.
    func retry(_ id: String) async throws
    /// Discards a failed message, or a rejected change.
    func discard(_ id: String) async throws

    // MARK: Conversations

    /// See ``PresenceMessenger/conversationList``.
    var conversationList: PresenceUpdates<[ChatConversation]> { get }
    /// Returns the current or last known conversation: see ``PresenceMessenger/conversation(_:)``, also for its errors.
    func conversation(_ id: String) async throws -> ChatConversation
    /// Returns the direct conversation with another user, and creates it if needed. It needs a connection.
    func directConversation(with user: String, metadata: [String: JSONValue]?) async throws -> ChatConversation
    /// Creates a group, or returns the one created with the same key: see
    /// ``PresenceMessenger/createGroup(with:name:metadata:key:)``.
    func createGroup(
        with users: [String], name: String?, metadata: [String: JSONValue]?, key: String
    ) async throws -> ChatConversation
    /// Marks a conversation as read, up to a message or up to the newest known one.
    func markRead(in conversation: String, upTo sequence: Int64?) async
    /// Mutes a conversation, for at most 366 days or until ``unmute(_:)``: see ``PresenceMessenger/mute(_:for:)``.
    func mute(_ conversation: String, for duration: Duration?) async throws
    /// Unmutes a conversation.
    func unmute(_ conversation: String) async throws
    /// Archives or unarchives a conversation: see ``PresenceMessenger/archive(_:_:)``.
    func archive(_ conversation: String, _ isArchived: Bool) async throws
    /// Renames a group; an empty name removes the name. It needs a connection, and throws `forbidden` for a direct
    /// conversation.
    func rename(_ conversation: String, to name: String) async throws
    /// Adds users to a group and removes users from it. It needs a connection, and throws `forbidden` or `tooMany` by
    /// the server's rules.
    func changeMembers(of conversation: String, add: [String], remove: [String]) async throws
    /// Leaves a group. It needs a connection.
    func leave(_ conversation: String) async throws

    // MARK: Pushes to this device

    /// Registers this device, also for later sessions: see ``PresenceMessenger/registerDevice(_:)``, also for its
    /// errors. Returns whether the server has it; `false` if it will be sent later.
    @discardableResult
    func registerDevice(_ device: PushDevice) async throws -> Bool
    /// Removes the registration of this device: see ``PresenceMessenger/removeDevice()``, also for its errors. Returns
    /// whether the server has removed it; `false` if that will be sent later.
    @discardableResult
    func removeDevice() async throws -> Bool
}

extension PresenceMessenger: MessageRepository {}

// The same with the id alone, for a message that this device knows.
extension MessageRepository {
    /// Replaces the text of a message: see ``edit(_:text:)``.
    ///
    /// - Throws: also `notFound` if this device does not know the message.
    @discardableResult public func editMessage(id: String, newText: String) async throws -> Message {
        try await edit(known(id), text: newText)
    }

    /// Deletes the content of a message: see ``delete(_:)``.
    ///
    /// - Throws: also `notFound` if this device does not know the message.
    @discardableResult public func deleteMessage(id: String) async throws -> Message {
        try await delete(known(id))
    }

    /// Advances the status of another user's message: see ``updateStatus(of:to:)``.
    ///
    /// - Throws: `notFound` if this device does not know the message.
    public func updateMessageStatus(messageId: String, status: MessageStatus) async throws {
        await updateStatus(of: try known(messageId), to: status)
    }

    private func known(_ id: String) async throws -> Message {
        guard let message = await message(id) else {
            throw PresenceError(.notFound, "this device knows no message \(id)")
        }
        return message
    }
}
