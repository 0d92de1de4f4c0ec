import Foundation
import PresenceKit

// Changes of messages and of the own settings of conversations. They wait for a connection as messages do, in one order
// with them, and are shown at once.
extension PresenceMessages {
    /// Replaces the text of an own message. Without a connection, or if that breaks, the change waits for one, and this
    /// returns the message as it will be.
    ///
    /// With a connection it returns when the server has answered, and waits for what was written before it in the
    /// conversation: for at most ``PresenceKit/PresenceClient/Configuration/requestTimeout`` for each. It does not wait for a
    /// connection, nor for a server that finds it too fast.
    ///
    /// - Throws: what the server refused it with, so `forbidden` or `conflict`; `validationFailed` with `field`; `invalidID`;
    ///   `notFound` for a message that failed or is not there; `signedOut` if the user signs out or is changed meanwhile;
    ///   `tooMany`, `storageFailed`, `notConnected` as ``send(_:in:attachments:isPriority:priorityReason:)``. What is refused
    ///   later, with nobody waiting, is in ``refusedChanges``.
    @discardableResult
    public func edit(_ message: Message, text: String) async throws -> Message {
        try MessageRule.check(text: text, attachments: message.attachments)
        return try await change(message, .edit(message: message.id, text: text))
    }

    /// Empties a message of one's own, or any in a group that one owns. It waits for a connection as
    /// ``edit(_:text:)`` does, and returns as that does.
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
        if let shown = shown(lane).first(where: { $0.id == message.id }) { return shown }
        if let made { return Message(made, in: lane) }
        var expected = message
        change.apply(to: &expected)
        return expected
    }

    /// Mutes a conversation, for a time or until that is taken back. It waits for a connection as ``edit(_:text:)`` does, and
    /// returns as that does; the time begins now.
    ///
    /// - Parameter duration: at most ``MessageRule/maximumMuting``, 366 days; `nil`: until ``unmute(_:)``.
    /// - Throws: `validationFailed` with the field `muteFor`; `forbidden` if the user is not in it; else as
    ///   ``edit(_:text:)``.
    public func mute(_ conversation: String, for duration: Duration? = nil) async throws {
        if let duration { try MessageRule.check(muting: duration) }
        let until = duration.map { Date() + $0 / .seconds(1) }
        _ = try await make(.mute(until: until), in: conversation)
    }

    /// Takes ``mute(_:for:)`` back. It waits for a connection as ``edit(_:text:)`` does, and returns as that does.
    ///
    /// - Throws: `forbidden` if the user is not in it; else as ``edit(_:text:)``.
    public func unmute(_ conversation: String) async throws { _ = try await make(.unmute, in: conversation) }

    /// Archives a conversation, or takes that back: nothing else ends it. It waits for a connection as ``edit(_:text:)`` does,
    /// and returns as that does.
    ///
    /// - Throws: as ``unmute(_:)``.
    public func archive(_ conversation: String, _ isArchived: Bool = true) async throws {
        _ = try await make(.archive(isArchived), in: conversation)
    }

    /// The changes that the server refused when nobody waited for its answer, until ``retry(_:)`` or ``discard(_:)``, over
    /// restarts.
    public nonisolated var refusedChanges: PresenceUpdates<[MessageChange]> {
        PresenceUpdates(
            LoopSequence<[MessageChange]>(
                begin: { await self.beginRefused($0, $1) }, end: { await self.endRefused($0) }))
    }

    private func beginRefused(_ id: UUID, _ loop: AsyncStream<[MessageChange]>.Continuation) async {
        await restored()
        refusedLoops.add(id, loop, outbox.refused)
    }

    private func endRefused(_ id: UUID) { refusedLoops.remove(id) }

    // MARK: Through the outbox

    /// Keeps a change, and waits for its answer if there is a connection that gives one.
    ///
    /// - Returns: the message as the server has it, if it is of one and was made.
    private func make(
        _ kind: MessageChange.Kind, in conversation: String
    ) async throws -> (MessageChange, made: Wire.Message?) {
        guard PresenceID.isValid(conversation) else {
            throw PresenceError(.invalidID, "not an id: \(conversation.debugDescription)")
        }
        let change = MessageChange(conversationId: conversation, user: try await ownUser(), kind: kind)
        // Without a connection nobody waits for one, which may be long in coming.
        let isThere = await client.connectionState.isConnected
        try await keep(.change(change))
        switch await outcome(of: change.id, in: conversation, isThere: isThere) {
        case .made(let message): return (change, message)
        case .waits: return (change, nil)
        case .refused(let error): throw error
        }
    }

    /// What became of a change, as far as somebody waits for it.
    enum Outcome: Sendable {
        case made(Wire.Message?)
        case refused(PresenceError)
        /// For a connection, or for what the server found too fast.
        case waits
    }

    /// Waits for at most one request of the conversation to fail.
    private func outcome(of id: String, in lane: String, isThere: Bool) async -> Outcome {
        guard isThere, isConnected, outbox[id] != nil, !paused.contains(lane) else {
            pump(lane)
            return .waits
        }
        return await withCheckedContinuation { continuation in
            outcomes[lane, default: [:]][id] = continuation
            pump(lane)
        }
    }

    /// Whether somebody waited for it.
    @discardableResult
    func tell(_ outcome: Outcome, of id: String, in lane: String) -> Bool {
        guard let waiting = outcomes[lane]?.removeValue(forKey: id) else { return false }
        waiting.resume(returning: outcome)
        return true
    }

    /// Nobody waits any longer in a conversation.
    func release(_ lane: String, _ outcome: Outcome = .waits) {
        for waiting in (outcomes.removeValue(forKey: lane) ?? [:]).values { waiting.resume(returning: outcome) }
    }

    // MARK: What is shown

    /// A conversation with the changes that the server has not made yet.
    func changed(_ conversation: ChatConversation) -> ChatConversation {
        outbox.changes(in: conversation.id).reduce(into: conversation) { $1.apply(to: &$0) }
    }

    /// The server has made a change, and tells the list of it a moment later. It may have told it, and what came after it,
    /// already: an answer is often taken in after the events that followed it.
    ///
    /// - Parameter version: the conversation's before the change was asked for.
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
