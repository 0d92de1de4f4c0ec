import Foundation
import PresenceKit

// The outbox at work.
extension PresenceMessages {
    /// How many messages may wait to be sent, those that have failed counted. The storage bounds all of its writes, too.
    public static let maximumWaiting = 1_000

    /// Sends a message: it is kept when this returns, and sent as soon as there is a connection, after those written
    /// before it. ``messages(in:)`` tells what becomes of it.
    ///
    /// - Returns: the message, `sending`.
    /// - Throws: `validationFailed` with `field`; `tooMany` if ``maximumWaiting`` messages wait already; `storageFailed`
    ///   if it cannot be kept; `notConnected` if the own user is not known, because there never was a connection.
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

    /// The same with a message that the app has made. Its `id` decides: one that is on its way is not sent again.
    @discardableResult
    public func send(_ message: Message) async throws -> Message {
        try MessageRule.check(
            text: message.text, attachments: message.attachments, priorityReason: message.priorityReason)
        for id in [message.id, message.conversationId] where !PresenceID.isValid(id) {
            throw PresenceError(.invalidID, "not an id: \(id.debugDescription)")
        }
        guard message.id.utf8.count <= 64 else {
            throw PresenceError(.invalidID, "the id of a message has at most 64 bytes: \(message.id)")
        }
        let user = try await ownUser()
        guard message.senderId == user else {
            throw PresenceError(.forbidden, "a message of \(message.senderId) cannot be sent by \(user)")
        }
        if let entry = outbox[message.id] { return entry.message }
        guard outbox.entries.count < Self.maximumWaiting else {
            throw PresenceError(.tooMany, "\(Self.maximumWaiting) messages wait or have failed already")
        }
        let lane = message.conversationId
        let entry = outbox.append(message, after: newest(in: lane))
        publish(lane)
        try await store(entry)
        pump(lane)
        return message
    }

    /// How many messages wait to be sent, over all conversations; those that have failed are not counted.
    public nonisolated var waiting: PresenceUpdates<Int> {
        PresenceUpdates(
            LoopSequence(
                begin: { await self.beginWaiting($0, $1) }, end: { await self.endWaiting($0) }))
    }

    private func beginWaiting(_ id: UUID, _ loop: AsyncStream<Int>.Continuation) async {
        await restored()
        waitingLoops.add(id, loop, outbox.waiting)
    }

    private func endWaiting(_ id: UUID) { waitingLoops.remove(id) }

    private func store(_ entry: Outbox.Entry) async throws {
        do {
            try await client.keep(try Outbox.write(entry))
        } catch {
            outbox.remove(entry.id)
            publish(entry.message.conversationId)
            pump(entry.message.conversationId)
            throw PresenceError(.storageFailed, "a message cannot be kept: \(error)")
        }
        guard outbox[entry.id] != nil else {
            try? await client.removeWrites([entry.id])
            throw PresenceError(.signedOut, "the user signed out or was changed")
        }
        outbox.set(entry.id, .ready)
    }

    private func newest(in conversation: String) -> Int64 {
        max(talks[conversation]?.newest ?? 0, conversations[conversation]?.lastSequence ?? 0)
    }

    func ownUser() async throws -> String {
        await restored()
        if let own { return own }
        guard let user = await client.ownID else {
            throw PresenceError(.notConnected, "the own user is not known before the first connection")
        }
        if own == nil { own = user }
        return user
    }

    // MARK: Refused ones

    /// Sends a message again that has failed.
    ///
    /// - Throws: `notFound` if there is none; `storageFailed`.
    public func retry(_ id: String) async throws {
        let entry = try failed(id)
        try await forgetWrites([Outbox.failureID(id)])
        guard outbox[id] != nil else { return }
        outbox.set(id, .ready)
        publish(entry.message.conversationId)
        pump(entry.message.conversationId)
    }

    /// Drops a message that has failed.
    ///
    /// - Throws: as ``retry(_:)``.
    public func discard(_ id: String) async throws {
        let entry = try failed(id)
        try await forgetWrites([id, Outbox.failureID(id)])
        outbox.remove(id)
        publish(entry.message.conversationId)
    }

    private func failed(_ id: String) throws(PresenceError) -> Outbox.Entry {
        guard let entry = outbox[id], case .failed = entry.state else {
            throw PresenceError(.notFound, "there is no message that has failed with the id \(id)")
        }
        return entry
    }

    private func forgetWrites(_ ids: [String]) async throws {
        do {
            try await client.removeWrites(ids)
        } catch {
            throw PresenceError(.storageFailed, "writes cannot be removed: \(error)")
        }
    }

    // MARK: One after the other

    /// Sends what waits in a conversation, unless that is under way.
    func pump(_ lane: String) {
        guard isConnected, outbox.next(in: lane) != nil, sending.insert(lane).inserted else { return }
        Task {
            while self.isConnected, let entry = self.outbox.next(in: lane) { await self.deliver(entry) }
            self.sending.remove(lane)
        }
    }

    private func deliver(_ entry: Outbox.Entry) async {
        let asked = generation
        let lane = entry.message.conversationId
        do throws(PresenceError) {
            let sent = try await client.ask("send", entry.request, Wire.OneMessage.self)
            guard outbox[entry.id] != nil else { return }
            talks[lane]?.take(sent.message)
            outbox.remove(entry.id)
            publish(lane)
            // If it cannot be removed, it is sent again after a launch, and answered with the same message.
            try? await client.removeWrites([entry.id])
        } catch {
            guard !error.isPassing, asked == generation, outbox[entry.id] != nil else {
                // Sent again whatever became of it: the server knows its id.
                _ = await mayRetry(after: error, asked)
                return
            }
            outbox.set(entry.id, .failed(error))
            publish(lane)
            if let write = try? Outbox.failure(entry, error) { try? await client.keep(write) }
        }
    }
}
