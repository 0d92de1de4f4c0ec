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
        if let known = outbox[message.id]?.message { return known }
        try await keep(.send(message, after: newest(in: message.conversationId)))
        pump(message.conversationId)
        return message
    }

    /// Observes the number of messages and changes that wait for the server, over all conversations; excludes failed
    /// ones.
    public nonisolated var waiting: PresenceUpdates<Int> {
        PresenceUpdates(
            loops(add: { $0.waitingLoops.add($1, $2, $0.outbox.waiting) }, remove: { $0.waitingLoops.remove($1) }))
    }

    /// Adds an entry to the outbox; it is stored when this returns.
    func keep(_ work: Outbox.Work) async throws {
        // The user may have changed since the entry was made.
        guard work.owner == own else { throw PresenceError.signedOut }
        guard outbox.count < Self.maximumWaiting else {
            throw PresenceError(.tooMany, "\(Self.maximumWaiting) messages and changes are pending or have failed")
        }
        let entry = outbox.append(work)
        publish(entry)
        do {
            try await store("the message or change", try Outbox.write(entry))
        } catch {
            outbox.remove(entry.id)
            publish(entry)
            pump(entry.lane)
            throw error
        }
        guard outbox[entry.id] != nil else {
            try? await client.removeWrites([entry.id])
            throw PresenceError.signedOut
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

    // MARK: Failed entries

    /// Sends a failed message again, or makes a change of ``refusedChanges`` again.
    ///
    /// - Throws: `notFound` if there is no such entry; `storageFailed`.
    public func retry(_ id: String) async throws {
        let entry = try await failed(id)
        try await forgetWrites([Outbox.failureID(id)])
        guard outbox[id] != nil else { return }
        outbox.set(id, .ready)
        publish(entry)
        pump(entry.lane)
    }

    /// Discards a failed message, or a change of ``refusedChanges``.
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
            throw PresenceError(.notFound, "no failed message or change has the id \(id)")
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

    /// Removes a completed entry from the storage, with those whose removal failed before.
    private func removeStored(_ id: String) async { await removeStored([id]) }

    func removeStored(_ ids: [String]) async {
        unremoved += ids
        let all = unremoved
        guard (try? await client.removeWrites(all)) != nil else { return }
        unremoved.removeAll { all.contains($0) }
    }

    // MARK: Sending in order

    /// Processes the entries of a conversation, unless that is in progress.
    func pump(_ lane: String) {
        guard isConnected else {
            // Connects, because a process that only sends makes no other call that would.
            client.beginConnecting()
            return release(lane)
        }
        guard outbox.next(in: lane) != nil, sending.insert(lane).inserted else { return }
        run { messages in
            while messages.isConnected, let entry = messages.outbox.next(in: lane) { await messages.deliver(entry) }
            messages.sending.remove(lane)
            if !messages.isConnected { messages.release(lane) }
        }
    }

    private func deliver(_ entry: Outbox.Entry) async {
        let asked = generation
        let lane = entry.lane
        let version = versions[lane]
        do throws(PresenceError) {
            let made = try await ask(entry)
            guard outbox[entry.id] != nil else { return }
            if let made {
                talks[lane]?.apply(made)
                keepMessages(of: lane)
            }
            if let change = entry.change { hold(change, made, at: version) }
            outbox.remove(entry.id)
            publish(entry)
            await removeStored(entry.id)
            complete(.made(made), of: entry.id, in: lane)
        } catch {
            var faults = entry.faults
            let isFault = error.isUnexplained && faults >= Outbox.mostFaults - 1
            guard !error.isPassing || isFault, asked == generation, outbox[entry.id] != nil else {
                // Repeated regardless of the outcome: the server recognizes the id.
                release(lane, error.code == .signedOut ? .refused(error) : .waits)
                paused.insert(lane)
                _ = await mayRetry(after: error, asked, faults: &faults)
                outbox.record(faults: faults, of: entry.id)
                paused.remove(lane)
                return
            }
            await refused(entry, error)
        }
    }

    private func ask(_ entry: Outbox.Entry) async throws(PresenceError) -> Wire.Message? {
        switch entry.work {
        case .send(let message, let after):
            try await ask("send", Ask.Send(message, after: after), Wire.OneMessage.self).message
        case .change(let change): try await send(change)
        }
    }

    /// Reports the rejection to the waiting call. If none waits, the failed entry is stored until the app handles it.
    private func refused(_ entry: Outbox.Entry, _ error: PresenceError) async {
        if complete(.refused(error), of: entry.id, in: entry.lane) {
            outbox.remove(entry.id)
            publish(entry)
            await removeStored(entry.id)
        } else {
            outbox.set(entry.id, .failed(error))
            publish(entry)
            if let write = try? Outbox.failure(entry, error) { try? await client.keep(write, of: userNumber) }
        }
    }
}
