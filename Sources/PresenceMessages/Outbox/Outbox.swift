import Foundation
import PresenceKit

/// Pending messages and changes, in order within a conversation, until the server has replied to each.
struct Outbox {
    enum State: Hashable, Sendable {
        /// Being stored; nothing is sent before that.
        case storing
        case ready
        case failed(PresenceError)
    }

    enum Work: Sendable {
        /// A message, with the newest sequence known when it was written.
        case send(Message, after: Int64)
        case change(MessageChange)
    }

    struct Entry: Sendable {
        let work: Work
        /// The position: later entries have larger numbers.
        let number: Int
        var state: State
        /// The number of unexplained errors in a row, in this process.
        var faults = 0
    }

    /// After this many internal or unknown errors an entry has failed, so that later ones in its conversation are not
    /// blocked forever. Including the delays that takes 15 s.
    static let mostFaults = 5

    private(set) var entries: [Entry] = []
    private var lastNumber = 0
    /// Only entries of this user count; all of them while the user is unknown. Entries of other users stay until a
    /// connection confirms the user.
    var owner: String?

    // MARK: Adding

    /// Appends an entry.
    mutating func append(_ work: Work) -> Entry {
        lastNumber += 1
        let entry = Entry(work: work, number: lastNumber, state: .storing)
        entries.append(entry)
        return entry
    }

    /// Takes over the entries of an earlier process, which are older than all others.
    mutating func recall(_ writes: [QueuedWrite]) {
        let failures = Dictionary(
            writes.filter { $0.kind == Self.failureKind }.map { ($0.id, $0.body) }, uniquingKeysWith: { $1 })
        let known = Set(entries.map(\.id))
        var recalled: [Entry] = []
        for write in writes where Self.kinds.contains(write.kind) && !known.contains(write.id) {
            // A write of a later version stays in the storage for that version.
            guard let (work, number) = Self.read(write) else { continue }
            let failure = failures[Self.failureID(write.id)].map { body in
                (try? JSONDecoder().decode(PresenceError.self, from: body)) ?? PresenceError(.badRequest, "refused")
            }
            recalled.append(Entry(work: work, number: number, state: failure.map(State.failed) ?? .ready))
        }
        recalled.sort { $0.number < $1.number }
        let offset = recalled.last?.number ?? 0
        lastNumber += offset
        entries =
            recalled + entries.map { Entry(work: $0.work, number: $0.number + offset, state: $0.state) }
    }

    mutating func set(_ id: String, _ state: State) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].state = state
        entries[index].faults = 0
    }

    mutating func record(faults: Int, of id: String) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].faults = faults
    }

    mutating func remove(_ id: String) { entries.removeAll { $0.id == id } }

    mutating func removeAll() { entries = [] }

    /// Removes the entries of other users; the client removes them from the storage.
    mutating func removeAll(except user: String) { entries.removeAll { $0.owner != user } }

    // MARK: Contents

    private func counts(_ entry: Entry) -> Bool { owner == nil || entry.owner == owner }

    subscript(id: String) -> Entry? { entries.first { $0.id == id && counts($0) } }

    /// The conversations with entries.
    var lanes: Set<String> { Set(entries.filter(counts).map(\.lane)) }

    /// The number of entries, including failed ones.
    var count: Int { entries.count(where: counts) }

    /// The number of entries that are not done.
    var waiting: Int { entries.count { !$0.hasFailed && counts($0) } }

    /// The next entry of a conversation. An entry that is still being stored blocks later ones; a failed one does not.
    func next(in lane: String) -> Entry? {
        let waiting = entries.first { $0.lane == lane && !$0.hasFailed && counts($0) }
        return waiting?.state == .ready ? waiting : nil
    }

    /// The messages of a conversation that the server does not have, in order.
    func shown(in lane: String, except isHeld: (String) -> Bool) -> [Message] {
        entries.filter { $0.lane == lane && counts($0) && !isHeld($0.id) }.compactMap { entry in
            guard var message = entry.message else { return nil }
            if case .failed(let error) = entry.state {
                message.advance(to: .failed, at: message.statusUpdatedAt)
                message.failure = error
            }
            return message
        }
    }

    /// The changes of a conversation that the server has not made, in order.
    func changes(in lane: String) -> [MessageChange] {
        entries.filter { $0.lane == lane && counts($0) && !$0.hasFailed }.compactMap(\.change)
    }

    /// The rejected changes.
    var refused: [MessageChange] {
        entries.filter(counts).compactMap { entry in
            guard var change = entry.change, case .failed(let error) = entry.state else { return nil }
            change.failure = error
            return change
        }
    }
}

extension Outbox.Work {
    var owner: String {
        switch self {
        case .send(let message, _): message.senderId
        case .change(let change): change.user
        }
    }
}

extension Outbox.Entry {
    var id: String {
        switch work {
        case .send(let message, _): message.id
        case .change(let change): change.id
        }
    }

    var owner: String { work.owner }

    /// The conversation.
    var lane: String {
        switch work {
        case .send(let message, _): message.conversationId
        case .change(let change): change.conversationId
        }
    }

    var message: Message? {
        if case .send(let message, _) = work { message } else { nil }
    }

    var change: MessageChange? {
        if case .change(let change) = work { change } else { nil }
    }

    var hasFailed: Bool {
        if case .failed = state { true } else { false }
    }
}
