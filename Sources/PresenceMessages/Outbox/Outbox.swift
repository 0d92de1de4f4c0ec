import Foundation
import PresenceKit

/// The messages that were promised to be sent: in order within a conversation, until the server has answered each.
struct Outbox {
    enum State: Hashable, Sendable {
        /// On its way into the storage: not sent before it is there.
        case storing
        case ready
        case failed(PresenceError)
    }

    struct Entry: Sendable {
        var message: Message
        /// The newest message that was known when it was written.
        let after: Int64
        /// Its place: later ones have larger numbers.
        let number: Int
        var state: State
        var id: String { message.id }
    }

    static let kind = "message"
    /// Beside the write of a message that was refused.
    static let failureKind = "messageFailure"

    private(set) var entries: [Entry] = []
    private var lastNumber = 0

    /// What of it is in the storage.
    private struct Stored: Codable {
        var message: Message
        var after: Int64
        var number: Int
    }

    // MARK: What comes in

    /// Takes a message up, behind all others.
    mutating func append(_ message: Message, after: Int64) -> Entry {
        lastNumber += 1
        let entry = Entry(message: message, after: after, number: lastNumber, state: .storing)
        entries.append(entry)
        return entry
    }

    /// Takes up what an earlier process left: it is older than anything here.
    mutating func recall(_ writes: [QueuedWrite]) {
        let failures = Dictionary(
            writes.filter { $0.kind == Self.failureKind }.map { ($0.id, $0.body) }, uniquingKeysWith: { $1 })
        let known = Set(entries.map(\.id))
        var recalled: [Entry] = []
        for write in writes where write.kind == Self.kind && !known.contains(write.id) {
            // One that a later version wrote stays where it is, for that version.
            guard let stored = try? JSONDecoder().decode(Stored.self, from: write.body) else { continue }
            let failure = failures[Self.failureID(write.id)].map { body in
                (try? JSONDecoder().decode(PresenceError.self, from: body)) ?? PresenceError(.badRequest, "refused")
            }
            recalled.append(
                Entry(
                    message: stored.message, after: stored.after, number: stored.number,
                    state: failure.map(State.failed) ?? .ready))
        }
        recalled.sort { $0.number < $1.number }
        let offset = recalled.last?.number ?? 0
        lastNumber += offset
        entries =
            recalled
            + entries.map {
                Entry(message: $0.message, after: $0.after, number: $0.number + offset, state: $0.state)
            }
    }

    mutating func set(_ id: String, _ state: State) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].state = state
    }

    mutating func remove(_ id: String) { entries.removeAll { $0.id == id } }

    mutating func removeAll() { entries = [] }

    // MARK: What is in it

    subscript(id: String) -> Entry? { entries.first { $0.id == id } }

    /// The conversations that something waits for.
    var lanes: Set<String> { Set(entries.map(\.message.conversationId)) }

    /// How many are still to be sent.
    var waiting: Int {
        entries.count { entry in
            if case .failed = entry.state { false } else { true }
        }
    }

    /// The next one to be sent in a conversation: one that is not stored yet holds up those behind it, a failed one does
    /// not.
    func next(in lane: String) -> Entry? {
        let waiting = entries.first { entry in
            guard entry.message.conversationId == lane else { return false }
            if case .failed = entry.state { return false }
            return true
        }
        return waiting?.state == .ready ? waiting : nil
    }

    /// The messages of a conversation that the server has not, in order.
    func shown(in lane: String, except isHeld: (String) -> Bool) -> [Message] {
        entries.filter { $0.message.conversationId == lane && !isHeld($0.id) }.map { entry in
            var message = entry.message
            if case .failed(let error) = entry.state {
                message.advance(to: .failed, at: message.statusUpdatedAt)
                message.failure = error
            }
            return message
        }
    }

    // MARK: The storage

    static func failureID(_ id: String) -> String { id + ".failure" }

    static func write(_ entry: Entry) throws -> QueuedWrite {
        let stored = Stored(message: entry.message, after: entry.after, number: entry.number)
        return QueuedWrite(
            id: entry.id, owner: entry.message.senderId, lane: entry.message.conversationId, kind: kind,
            body: try JSONEncoder().encode(stored), queuedAt: entry.message.timestamp)
    }

    static func failure(_ entry: Entry, _ error: PresenceError) throws -> QueuedWrite {
        QueuedWrite(
            id: failureID(entry.id), owner: entry.message.senderId, lane: entry.message.conversationId,
            kind: failureKind, body: try JSONEncoder().encode(error), queuedAt: entry.message.timestamp)
    }
}

extension Outbox.Entry {
    /// What asks the server for it; the same whenever it is asked.
    var request: Ask.Send {
        Ask.Send(
            conversation: message.conversationId,
            message: Ask.Send.Content(
                id: message.id, text: message.text,
                attachments: message.attachments.isEmpty
                    ? nil
                    : message.attachments.map {
                        Wire.Attachment(
                            id: $0.id, kind: $0.type.rawValue, url: $0.url, thumbnailURL: $0.thumbnailURL,
                            sizeBytes: $0.sizeBytes)
                    },
                priority: message.isPriority ? Wire.Priority(reason: message.priorityReason) : nil),
            after: after)
    }
}
