import Foundation
import PresenceKit

// Sending from the outbox.
extension PresenceMessenger {
    /// The maximum number of messages and changes in the outbox, including failed ones. The storage has its own limit
    /// for all writes together.
    public static let maximumWaiting = 1_000

    /// Sends a message. It is stored when this returns, and sent once there is a connection, after all messages written
    /// before it. ``messages(in:)`` shows its status.
    ///
    /// - Returns: the message, `sending`.
    /// - Throws: `validationFailed` with `field`; `tooMany` if the outbox already has ``maximumWaiting`` entries;
    ///   `storageFailed` if the message cannot be stored; `notConnected` if the user is unknown because there never was
    ///   a connection.
    @discardableResult
    public func send(
        _ text: String, in conversation: String, attachments: [MessageAttachment] = [], isPriority: Bool = false,
        priorityReason: String? = nil
    ) async throws -> Message {
        let user = try await ownUser()
        return try await send(
            Message(
                conversationId: conversation, senderId: user, text: text, attachments: attachments,
                isPriority: isPriority || priorityReason != nil, priorityReason: priorityReason))
    }

    /// Sends a message made by the app. A message whose `id` is already in the outbox is not sent again.
    @discardableResult
    public func send(_ message: Message) async throws -> Message {
        try Message.Rule.check(
            text: message.text, attachments: message.attachments, priorityReason: message.priorityReason)
        for id in [message.id, message.conversationId] where !PresenceClient.isValidID(id) {
            throw PresenceError(.invalidID, "not an id: \(id.debugDescription)")
        }
        guard message.id.utf8.count <= 64 else {
            throw PresenceError(.invalidID, "the id of a message has at most 64 bytes: \(message.id)")
        }
        let user = try await ownUser()
        guard message.senderId == user else {
            throw PresenceError(.forbidden, "a message of \(message.senderId) cannot be sent by \(user)")
        }
        while let known = outbox[message.id], let message = known.work.message {
            guard known.state == .storing else { return message }
            // Another call stores it: the storage does one operation after the other.
            try await client.removeWrites([])
        }
        try await keep(.send(message, after: newest(in: message.conversationId)), as: user)
        pump(message.conversationId)
        return message
    }

    /// Observes the number of messages and changes that wait for the server, over all conversations; excludes failed
    /// ones.
    public nonisolated var waiting: PresenceUpdates<Int> {
        PresenceUpdates(
            loops(add: { $0.waitingLoops.add($1, $2, $0.outbox.waiting) }, remove: { $0.waitingLoops.remove($1) }))
    }

    /// Adds a message or change to the outbox; it is stored when this returns.
    func keep(_ work: Outbox.Work, as user: String) async throws {
        // The user may have changed since the entry was made.
        guard user == own else { throw PresenceError.signedOut }
        guard outbox.count < Self.maximumWaiting else {
            throw PresenceError(.tooMany, "\(Self.maximumWaiting) messages and changes are pending or have failed")
        }
        try await keep(work, of: user)
    }

    func show(_ work: Outbox.Work) {
        guard work.canFail else { return }
        publish(work.lane)
        guard work.change != nil else { return }
        publishList()
        refusedLoops.publish(outbox.refused)
    }

    func make(_ work: Outbox.Work) async throws(PresenceError) -> Wire.Message? {
        let version = versions[work.lane]
        var made: Wire.Message?
        switch work {
        case .send(let message, let after):
            made = try await ask("send", Ask.Send(message, after: after), Wire.OneMessage.self).message
        case .change(let change): made = try await send(change)
        case .mark(let mark): try await send(mark)
        case .notifications, .settings: preconditionFailure("\(work) is of another library")
        }
        if let made {
            talks[work.lane]?.apply(made)
            keepMessages(of: work.lane)
        }
        if let change = work.change { hold(change, made, at: version) }
        return made
    }

    private func newest(in conversation: String) -> Int64 {
        max(talks[conversation]?.newest ?? 0, conversations[conversation]?.lastSequence ?? 0)
    }

    // MARK: Failed entries

    /// Sends a failed message again, or makes a change of ``refusedChanges`` again.
    ///
    /// - Throws: `notFound` if there is no such entry; `storageFailed`.
    public func retry(_ id: String) async throws {
        let entry = try await failed(id)
        try await forgetWrites([Outbox.failureID(id)])
        guard outbox[id] != nil else { return }
        outbox.set(id, .ready)
        show(entry.work)
        pump(entry.work.lane)
    }

    /// Discards a failed message, or a change of ``refusedChanges``.
    ///
    /// - Throws: as ``retry(_:)``.
    public func discard(_ id: String) async throws {
        let entry = try await failed(id)
        try await forgetWrites([id, Outbox.failureID(id)])
        outbox.remove([id])
        show(entry.work)
    }

    private func failed(_ id: String) async throws(PresenceError) -> Outbox.Entry {
        await restored()
        guard let entry = outbox[id], entry.hasFailed else {
            throw PresenceError(.notFound, "no failed message or change has the id \(id)")
        }
        return entry
    }
}
