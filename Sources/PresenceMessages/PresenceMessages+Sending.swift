import Foundation
import PresenceKit

// The outbox at work.
extension PresenceMessages {
    /// How many messages and changes may wait, those that have failed counted. The storage bounds all of its writes, too.
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
        if let known = outbox[message.id]?.message { return known }
        try await keep(.send(message, after: newest(in: message.conversationId)))
        pump(message.conversationId)
        return message
    }

    /// How many messages and changes wait for the server, over all conversations; those that have failed are not counted.
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

    /// Takes something into the outbox; it is in the storage when this returns.
    func keep(_ work: Outbox.Work) async throws {
        // The user may have changed since it was made.
        guard work.owner == own else { throw PresenceError(.signedOut, "the user signed out or was changed") }
        guard outbox.count < Self.maximumWaiting else {
            throw PresenceError(.tooMany, "\(Self.maximumWaiting) messages and changes wait or have failed already")
        }
        let entry = outbox.append(work)
        publish(entry)
        do {
            try await client.keep(try Outbox.write(entry))
        } catch {
            outbox.remove(entry.id)
            publish(entry)
            pump(entry.lane)
            throw PresenceError(.storageFailed, "this cannot be kept: \(error)")
        }
        guard outbox[entry.id] != nil else {
            try? await client.removeWrites([entry.id])
            throw PresenceError(.signedOut, "the user signed out or was changed")
        }
        outbox.set(entry.id, .ready)
    }

    private func publish(_ entry: Outbox.Entry) {
        publish(entry.lane)
        guard entry.change != nil else { return }
        publishList()
        refusedLoops.publish(outbox.refused)
    }

    private func newest(in conversation: String) -> Int64 {
        max(talks[conversation]?.newest ?? 0, conversations[conversation]?.lastSequence ?? 0)
    }

    // MARK: Refused ones

    /// Sends a message again that has failed, or makes a change of ``refusedChanges`` again.
    ///
    /// - Throws: `notFound` if there is none; `storageFailed`.
    public func retry(_ id: String) async throws {
        let entry = try await failed(id)
        try await forgetWrites([Outbox.failureID(id)])
        guard outbox[id] != nil else { return }
        outbox.set(id, .ready)
        publish(entry)
        pump(entry.lane)
    }

    /// Drops a message that has failed, or a change of ``refusedChanges``.
    ///
    /// - Throws: as ``retry(_:)``.
    public func discard(_ id: String) async throws {
        let entry = try await failed(id)
        try await forgetWrites([id, Outbox.failureID(id)])
        outbox.remove(id)
        publish(entry)
    }

    private func failed(_ id: String) async throws(PresenceError) -> Outbox.Entry {
        await restored()
        guard let entry = outbox[id], entry.hasFailed else {
            throw PresenceError(.notFound, "nothing that has failed has the id \(id)")
        }
        return entry
    }

    private func forgetWrites(_ ids: [String]) async throws {
        let all = unremoved + ids
        do {
            try await client.removeWrites(all)
        } catch {
            throw PresenceError(.storageFailed, "writes cannot be removed: \(error)")
        }
        unremoved.removeAll { all.contains($0) }
    }

    /// Takes what is done out of the storage, and what could not be taken out before.
    private func takeOut(_ id: String) async { await takeOut([id]) }

    func takeOut(_ ids: [String]) async {
        unremoved += ids
        let all = unremoved
        guard (try? await client.removeWrites(all)) != nil else { return }
        unremoved.removeAll { all.contains($0) }
    }

    // MARK: One after the other

    /// Does what waits in a conversation, unless that is under way.
    func pump(_ lane: String) {
        guard isConnected else {
            // A process that only sends asks for nothing else.
            client.beginConnecting()
            return release(lane)
        }
        guard outbox.next(in: lane) != nil, sending.insert(lane).inserted else { return }
        Task {
            while self.isConnected, let entry = self.outbox.next(in: lane) { await self.deliver(entry) }
            self.sending.remove(lane)
            if !self.isConnected { self.release(lane) }
        }
    }

    private func deliver(_ entry: Outbox.Entry) async {
        let asked = generation
        let lane = entry.lane
        let version = versions[lane]
        do throws(PresenceError) {
            let made = try await ask(entry)
            guard outbox[entry.id] != nil else { return }
            if let made { talks[lane]?.take(made) }
            if let change = entry.change { hold(change, made, at: version) }
            outbox.remove(entry.id)
            publish(entry)
            await takeOut(entry.id)
            tell(.made(made), of: entry.id, in: lane)
        } catch {
            var faults = entry.faults
            let isFault = error.isUnexplained && faults >= Outbox.mostFaults - 1
            guard !error.isPassing || isFault, asked == generation, outbox[entry.id] != nil else {
                // Done again whatever became of it: the server knows its id.
                release(lane, error.code == .signedOut ? .refused(error) : .waits)
                paused.insert(lane)
                _ = await mayRetry(after: error, asked, faults: &faults)
                outbox.note(faults: faults, of: entry.id)
                paused.remove(lane)
                return
            }
            await refused(entry, error)
        }
    }

    private func ask(_ entry: Outbox.Entry) async throws(PresenceError) -> Wire.Message? {
        switch entry.work {
        case .send(let message, let after):
            try await client.ask("send", Ask.Send(message, after: after), Wire.OneMessage.self).message
        case .change(let change): try await client.make(change)
        }
    }

    /// Somebody who waits for a change is told; without them it is kept until somebody looks.
    private func refused(_ entry: Outbox.Entry, _ error: PresenceError) async {
        if tell(.refused(error), of: entry.id, in: entry.lane) {
            outbox.remove(entry.id)
            publish(entry)
            await takeOut(entry.id)
        } else {
            outbox.set(entry.id, .failed(error))
            publish(entry)
            if let write = try? Outbox.failure(entry, error) { try? await client.keep(write) }
        }
    }
}
