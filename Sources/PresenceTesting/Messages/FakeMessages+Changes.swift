import Foundation
import PresenceKit
import PresenceMessages

// Changes of messages and settings. Without a connection they are queued and shown.
extension FakeMessages {
    @discardableResult
    public func edit(_ message: Message, text: String) async throws -> Message {
        try MessageRule.check(text: text, attachments: message.attachments)
        try await record(.edit(message.id, text: text), needsConnection: false)
        return try change(message, .edit(message: message.id, text: text))
    }

    @discardableResult
    public func delete(_ message: Message) async throws -> Message {
        try await record(.delete(message.id), needsConnection: false)
        return try change(message, .delete(message: message.id))
    }

    public func mute(_ conversation: String, for duration: Duration?) async throws {
        if let duration { try MessageRule.check(muting: duration) }
        try await record(.mute(conversation, duration), needsConnection: false)
        let now = lock.withLock { Self.beginning + state.seconds }
        _ = try change(.mute(until: duration.map { now + $0 / .seconds(1) }), in: conversation)
    }

    public func unmute(_ conversation: String) async throws {
        try await record(.unmute(conversation), needsConnection: false)
        _ = try change(.unmute, in: conversation)
    }

    public func archive(_ conversation: String, _ isArchived: Bool) async throws {
        try await record(.archive(conversation, isArchived), needsConnection: false)
        _ = try change(.archive(isArchived), in: conversation)
    }

    public var refusedChanges: PresenceUpdates<[MessageChange]> { refused.updates }

    private func change(_ message: Message, _ kind: MessageChange.Kind) throws -> Message {
        let hasFailed = lock.withLock {
            state.talks[message.conversationId]?.outbox.contains { $0.id == message.id && $0.status == .failed } == true
        }
        if hasFailed { throw PresenceError(.notFound, "the server does not have the message \(message.id)") }
        let (change, made) = try change(kind, in: message.conversationId)
        if let made { return made }
        var expected = message
        change.apply(to: &expected)
        return expected
    }

    /// Makes a change, or queues it.
    private func change(
        _ kind: MessageChange.Kind, in conversation: String
    ) throws -> (MessageChange, made: Message?) {
        let result: (MessageChange, made: Message?) = try lock.withLock {
            let change = MessageChange(
                conversationId: conversation, user: user, kind: kind, madeAt: Self.beginning + state.seconds)
            guard state.isOffline else { return (change, made: try make(change)) }
            state.changes.append(change)
            return (change, made: nil)
        }
        publish(conversation)
        return result
    }

    /// With the lock held: makes a change as the server would.
    private func make(_ wanted: MessageChange) throws -> Message? {
        let id = wanted.conversationId
        guard let message = wanted.messageId else {
            try change(id) { wanted.apply(to: &$0) }
            return nil
        }
        let owner = try talk(id).conversation.owner
        return try changeMessage(message, in: id) { stored in
            if case .edit = wanted.kind {
                guard stored.senderId == user else { throw PresenceError(.forbidden, "another user's message") }
                guard !stored.isDeleted else { throw PresenceError(.conflict, "a deleted message") }
            } else {
                guard stored.senderId == user || owner == user else {
                    throw PresenceError(.forbidden, "another user's message")
                }
            }
            wanted.apply(to: &stored)
            stored.hasPendingChange = false
        }
    }

    /// With the lock held: makes the queued changes. Returns all rejected ones.
    func makeChanges() -> [MessageChange] {
        let waiting = state.changes
        state.changes = []
        for var change in waiting {
            do {
                if !state.changeRefusals.isEmpty { throw state.changeRefusals.removeFirst() }
                _ = try make(change)
            } catch {
                change.failure = error as? PresenceError
                state.refusedChanges.append(change)
            }
        }
        return state.refusedChanges
    }

    // MARK: Rejected changes

    public func retry(_ id: String) async throws {
        try await record(.retry(id), needsConnection: false)
        if let change = takeRefused(id) {
            let others = lock.withLock {
                state.changes.append(change)
                return state.isOffline ? state.refusedChanges : makeChanges()
            }
            publishRefused(others)
            return publish(change.conversationId)
        }
        try changeFailed(id) { talk, index in
            talk.outbox[index].advance(to: .sending, at: Self.beginning)
            talk.outbox[index].failure = nil
        }
    }

    public func discard(_ id: String) async throws {
        try await record(.discard(id), needsConnection: false)
        if takeRefused(id) != nil { return publishRefused(lock.withLock { state.refusedChanges }) }
        try changeFailed(id) { talk, index in talk.outbox.remove(at: index) }
    }

    /// Publishes the rejected changes, if they differ.
    func publishRefused(_ changes: [MessageChange]) {
        if refused.value != changes { refused.send(changes) }
    }

    private func takeRefused(_ id: String) -> MessageChange? {
        lock.withLock {
            guard let index = state.refusedChanges.firstIndex(where: { $0.id == id }) else { return nil }
            var change = state.refusedChanges.remove(at: index)
            change.failure = nil
            return change
        }
    }

    private func changeFailed<Value>(_ id: String, _ body: (inout Talk, Int) -> Value) throws {
        let conversation = try lock.withLock {
            let found = state.talks.values.first { talk in
                talk.outbox.contains { $0.id == id && $0.status == .failed }
            }
            guard var talk = found, let index = talk.outbox.firstIndex(where: { $0.id == id }) else {
                throw PresenceError(.notFound, "no failed message or change has the id \(id)")
            }
            _ = body(&talk, index)
            state.talks[talk.conversation.id] = talk
            drain(talk.conversation.id)
            return talk.conversation.id
        }
        publish(conversation)
    }
}
