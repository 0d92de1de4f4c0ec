import Foundation
import PresenceKit

// Changes of messages, and of the user's settings of conversations. They are queued like messages, in one order with
// them, and are shown at once.
extension PresenceMessenger {
    /// Replaces the text of the user's own message. Without a connection, or if it breaks, the change is queued and
    /// this returns the message as it will be.
    ///
    /// With a connection it returns when the server has replied. It waits for earlier writes of the conversation, at
    /// most ``PresenceKit/PresenceClient/Configuration/requestTimeout`` for each, but neither for a connection nor for
    /// a rate limit. If its task is cancelled, it throws `CancellationError` at once, and the change is made
    /// nevertheless.
    ///
    /// - Throws: the server's error, such as `forbidden` or `conflict`; `validationFailed` with `field`; `invalidID`;
    ///   `notFound` for a message that failed or does not exist; `signedOut` if the user signs out or changes
    ///   meanwhile; `tooMany`, `storageFailed`, `notConnected` as
    ///   ``send(_:in:attachments:isPriority:priorityReason:)``. A rejection after this has returned is reported in
    ///   ``refusedChanges``.
    @discardableResult
    public func edit(_ message: Message, text: String) async throws -> Message {
        try Message.Rule.check(text: text, attachments: message.attachments)
        return try await change(message, .edit(message: message.id, text: text))
    }

    /// Deletes the content of the user's own message, or of any message in a group that the user owns. It is queued
    /// like ``edit(_:text:)``, and returns like that.
    ///
    /// - Throws: as ``edit(_:text:)``.
    @discardableResult
    public func delete(_ message: Message) async throws -> Message {
        try await change(message, .delete(message: message.id))
    }

    private func change(_ message: Message, _ kind: MessageChange.Kind) async throws -> Message {
        await restored()
        let lane = message.conversationId
        if outbox[message.id]?.hasFailed == true {
            throw PresenceError(.notFound, "the server does not have the message \(message.id), whose sending failed")
        }
        let (change, made) = try await make(kind, in: lane)
        if let shown = shown(message.id, in: lane) { return shown }
        if let made { return Message(made, in: lane) }
        var expected = message
        change.apply(to: &expected)
        return expected
    }

    /// Mutes a conversation for a time from now, or until it is unmuted. It is queued like ``edit(_:text:)``, and
    /// returns like that.
    ///
    /// - Parameter duration: at most ``Message/Rule/maximumMuting``, 366 days; `nil`: until ``unmute(_:)``.
    /// - Throws: `validationFailed` with the field `muteFor`; `forbidden` if the user is not in the conversation;
    ///   otherwise as ``edit(_:text:)``.
    public func mute(_ conversation: String, for duration: Duration? = nil) async throws {
        if let duration { try Message.Rule.check(muting: duration) }
        let until = duration.map { Date() + $0 / .seconds(1) }
        _ = try await make(.mute(until: until), in: conversation)
    }

    /// Unmutes a conversation. It is queued like ``edit(_:text:)``, and returns like that.
    ///
    /// - Throws: `forbidden` if the user is not in the conversation; otherwise as ``edit(_:text:)``.
    public func unmute(_ conversation: String) async throws { _ = try await make(.unmute, in: conversation) }

    /// Archives or unarchives a conversation; new messages do not unarchive it. It is queued like ``edit(_:text:)``,
    /// and returns like that.
    ///
    /// - Throws: as ``unmute(_:)``.
    public func archive(_ conversation: String, _ isArchived: Bool = true) async throws {
        _ = try await make(.archive(isArchived), in: conversation)
    }

    /// The changes that the server rejected after their call had returned. Each stays until ``retry(_:)`` or
    /// ``discard(_:)``, over restarts.
    public nonisolated var refusedChanges: PresenceUpdates<[MessageChange]> {
        PresenceUpdates(
            loops(
                add: { $0.refusedLoops.add($1, $2, $0.outbox.refused) }, remove: { $0.refusedLoops.remove($1) }))
    }

    // MARK: Queuing

    /// Stores a change, and waits for the outcome if there is a connection.
    ///
    /// - Returns: the server's message, if the change is one of a message and was made.
    private func make(
        _ kind: MessageChange.Kind, in conversation: String
    ) async throws -> (MessageChange, made: Wire.Message?) {
        guard PresenceClient.isValidID(conversation) else {
            throw PresenceError(.invalidID, "not an id: \(conversation.debugDescription)")
        }
        let change = MessageChange(conversationId: conversation, user: try await ownUser(), kind: kind)
        // Without a connection the call does not wait until there is one.
        let isThere = await client.connectionState.isConnected
        try await keep(.change(change), as: change.user)
        switch await outcome(of: change.id, in: conversation, isThere: isThere) {
        case .made(let message): return (change, message)
        case .waits: return (change, nil)
        case .cancelled: throw CancellationError()
        case .refused(let error): throw error
        }
    }

    // MARK: Values

    /// A conversation with pending changes applied.
    func changed(_ conversation: ChatConversation) -> ChatConversation {
        outbox.changes(in: conversation.id).reduce(into: conversation) { $1.apply(to: &$0) }
    }

    /// The server has made a change, and sends the list's update a moment later. It may have sent that and later
    /// updates already, because a reply is often handled after the events that followed it.
    ///
    /// - Parameter version: the conversation's version before the request.
    func hold(_ change: MessageChange, _ made: Wire.Message?, at version: Int64?) {
        let id = change.conversationId
        guard let held = conversations[id] else { return }
        if change.messageId == nil {
            if versions[id] == version { change.apply(to: &conversations[id]!) }
        } else if let made, let last = held.lastMessage, last.id == made.id, last.version < made.version {
            conversations[id]!.lastMessage = Message(made, in: id)
        }
    }
}
