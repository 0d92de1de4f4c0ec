import Foundation
import PresenceKit

/// What was promised to be done: messages to send, changes to make; in order within a conversation, until the server has
/// answered each.
struct Outbox {
    enum State: Hashable, Sendable {
        /// On its way into the storage: nothing is done before it is there.
        case storing
        case ready
        case failed(PresenceError)
    }

    enum Work: Sendable {
        /// A message, with the newest one that was known when it was written.
        case send(Message, after: Int64)
        case change(MessageChange)
    }

    struct Entry: Sendable {
        let work: Work
        /// Its place: later ones have larger numbers.
        let number: Int
        var state: State
        /// How often in a row it was answered what nothing explains, in this process.
        var faults = 0
    }

    /// What the server has answered so often with a fault of its own, or with what this version does not know, has failed: what
    /// comes behind it in its conversation does not wait for ever. With the delays in between that is 15 s.
    static let mostFaults = 5

    private(set) var entries: [Entry] = []
    private var lastNumber = 0
    /// Only this user's entries count; all of them while the user is unknown. Other users' entries stay until a connection
    /// says who the user is.
    var owner: String?

    // MARK: What comes in

    /// Takes something up, behind all others.
    mutating func append(_ work: Work) -> Entry {
        lastNumber += 1
        let entry = Entry(work: work, number: lastNumber, state: .storing)
        entries.append(entry)
        return entry
    }

    /// Takes up what an earlier process left: it is older than anything here.
    mutating func recall(_ writes: [QueuedWrite]) {
        let failures = Dictionary(
            writes.filter { $0.kind == Self.failureKind }.map { ($0.id, $0.body) }, uniquingKeysWith: { $1 })
        let known = Set(entries.map(\.id))
        var recalled: [Entry] = []
        for write in writes where Self.kinds.contains(write.kind) && !known.contains(write.id) {
            // One that a later version wrote stays where it is, for that version.
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

    mutating func note(faults: Int, of id: String) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].faults = faults
    }

    mutating func remove(_ id: String) { entries.removeAll { $0.id == id } }

    mutating func removeAll() { entries = [] }

    /// Another user's go: the client takes them out of the storage.
    mutating func removeAll(except user: String) { entries.removeAll { $0.owner != user } }

    // MARK: What is in it

    private func counts(_ entry: Entry) -> Bool { owner == nil || entry.owner == owner }

    subscript(id: String) -> Entry? { entries.first { $0.id == id && counts($0) } }

    /// The conversations that something waits for.
    var lanes: Set<String> { Set(entries.filter(counts).map(\.lane)) }

    /// How many there are, those that have failed included.
    var count: Int { entries.count(where: counts) }

    /// How many are still to be done.
    var waiting: Int { entries.count { !$0.hasFailed && counts($0) } }

    /// The next one of a conversation: one that is not stored yet holds up those behind it, a failed one does not.
    func next(in lane: String) -> Entry? {
        let waiting = entries.first { $0.lane == lane && !$0.hasFailed && counts($0) }
        return waiting?.state == .ready ? waiting : nil
    }

    /// The messages of a conversation that the server has not, in order.
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

    /// Those that it has refused.
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
