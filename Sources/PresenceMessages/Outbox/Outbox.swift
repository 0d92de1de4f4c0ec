import Foundation
import PresenceKit

/// The changes that the client has promised, until the server has replied to each: in order within a lane, one request
/// at a time. Lanes do not wait for each other. ``Work`` has the lanes, and the rules by which entries merge.
struct Outbox {
    enum State: Hashable, Sendable {
        /// Being stored.
        case storing
        case ready
        /// It could not be stored, or need not be: only this process sends it.
        case unstored
        case failed(PresenceError)
    }

    struct Entry: Sendable {
        let id: String
        /// `nil` for a mark that was made before the user was known.
        var owner: String?
        var work: Work
        /// The position: later entries have larger numbers.
        let number: Int
        var state: State

        var hasFailed: Bool {
            if case .failed = state { true } else { false }
        }
    }

    /// The entries of one request.
    typealias Batch = (work: Work, ids: [String])

    /// After this many internal or unknown errors in a row, a message or change has failed, so that later ones in its
    /// conversation are not blocked forever. Including the delays that takes 15 s.
    static let mostFaults = 5

    private(set) var entries: [Entry] = []
    private var lastNumber = 0
    /// Only entries of this user count; all of them while the user is unknown. Entries of other users stay until a
    /// connection confirms the user.
    var owner: String?

    /// The lanes that are being sent, each with the number of its loop.
    var sending: [String: Int] = [:]
    private var lastLoop = 0
    /// The lanes whose next request is retried after a delay. Callers do not wait for the changes queued behind that
    /// request.
    var paused: Set<String> = []
    /// The calls that wait for the outcome of a change, by lane and entry, until a request fails or the user signs out.
    var outcomes: [String: [String: CheckedContinuation<Outcome, Never>]] = [:]
    /// Writes that the server has, but that could not be removed from the storage. The next removal includes them.
    /// Otherwise, after a launch, such an older change would be made again and replace a newer one.
    var unremoved: [String] = []

    // MARK: Adding

    @discardableResult
    mutating func append(_ work: Work, of owner: String?, state: State = .storing) -> Entry {
        lastNumber += 1
        let entry = Entry(id: work.id ?? UUID().uuidString, owner: owner, work: work, number: lastNumber, state: state)
        entries.append(entry)
        return entry
    }

    /// Takes over the entries of an earlier process, which are older than all others.
    mutating func recall(_ writes: [QueuedWrite]) {
        let failures = Dictionary(
            writes.filter { $0.kind == Self.failureKind }.map { ($0.id, $0.body) }, uniquingKeysWith: { $1 })
        let known = Set(entries.map(\.id))
        var recalled: [Entry] = []
        for write in writes where write.owner != nil && !known.contains(write.id) {
            // A write of a later version stays in the storage for that version.
            guard let (work, number) = Self.read(write) else { continue }
            let failure = failures[Self.failureID(write.id)].map { body in
                (try? JSONDecoder().decode(PresenceError.self, from: body)) ?? PresenceError(.badRequest, "refused")
            }
            recalled.append(
                Entry(
                    id: write.id, owner: write.owner, work: work, number: number ?? recalled.count,
                    state: failure.map(State.failed) ?? .ready))
        }
        recalled.sort { $0.number < $1.number }
        let offset = recalled.last?.number ?? 0
        lastNumber += offset
        entries =
            recalled
            + entries.map {
                Entry(id: $0.id, owner: $0.owner, work: $0.work, number: $0.number + offset, state: $0.state)
            }
    }

    mutating func set(_ id: String, _ state: State) {
        if let index = entries.firstIndex(where: { $0.id == id }) { entries[index].state = state }
    }

    /// The older entries that are not needed once this one is stored.
    func replaced(by id: String) -> [String] {
        guard let entry = self[id] else { return [] }
        let older = entries.filter {
            $0.owner == entry.owner && $0.number < entry.number && $0.state != .storing && entry.work.covers($0.work)
        }
        return older.map(\.id)
    }

    /// An entry is stored.
    mutating func stored(_ id: String) {
        set(id, .ready)
        remove(replaced(by: id))
    }

    /// A mark is only in memory. It includes the others of its lane that are, so that they do not pile up.
    mutating func unstored(_ id: String) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].state = .unstored
        let entry = entries[index]
        let alike = entries.filter {
            $0.state == .unstored && $0.owner == entry.owner && $0.work.lane == entry.work.lane
        }
        entries[index].work = alike.dropFirst().reduce(into: alike[0].work) { _ = $0.merge($1.work) }
        remove(alike.map(\.id).filter { $0 != id })
    }

    /// Returns the ids of those that are in the storage, or soon will be.
    @discardableResult
    mutating func remove(_ ids: [String]) -> [String] {
        let removed = entries.filter { ids.contains($0.id) }
        entries.removeAll { ids.contains($0.id) }
        return removed.filter { $0.state != .unstored }.map(\.id)
    }

    /// The user changed. If only a token names the next one, the entries stay.
    mutating func forget(keepingEntries: Bool) {
        if !keepingEntries { (entries, unremoved) = ([], []) }
        endPauses()
    }

    /// The server has confirmed the user. Removes the entries of other users; the client removes them from the storage.
    mutating func confirm(_ user: String) {
        entries.removeAll { $0.owner != nil && $0.owner != user }
        for index in entries.indices { entries[index].owner = user }
    }

    // MARK: Sending

    /// The next request of a lane. An entry that is still being stored blocks later ones, if it must be stored first; a
    /// failed one does not.
    func next(in lane: String) -> Batch? {
        var batch: Batch?
        for entry in entries where entry.work.lane == lane && !entry.hasFailed && counts(entry) {
            guard entry.state == .ready || !entry.work.waitsForStorage else { break }
            if batch == nil {
                batch = (entry.work, [entry.id])
            } else {
                guard batch!.work.merge(entry.work) else { break }
                batch!.ids.append(entry.id)
            }
        }
        return batch
    }

    /// Begins to send a lane; returns the number of the loop, or `nil` if there is one or it has nothing to send.
    mutating func begin(_ lane: String) -> Int? {
        guard sending[lane] == nil, next(in: lane) != nil else { return nil }
        lastLoop += 1
        sending[lane] = lastLoop
        return lastLoop
    }

    /// The connection or the user changed: what waits for a delay can be sent at once, by another loop.
    mutating func endPauses() {
        for lane in paused { sending[lane] = nil }
        paused = []
    }

    // MARK: Contents

    private func counts(_ entry: Entry) -> Bool { owner == nil || entry.owner == nil || entry.owner == owner }

    subscript(id: String) -> Entry? { entries.first { $0.id == id && counts($0) } }

    var lanes: Set<String> { Set(entries.filter(counts).map(\.work.lane)) }

    /// The contents of the entries, oldest first.
    var works: [Work] { entries.filter(counts).map(\.work) }

    /// Whether an entry includes this, and is or will be stored if that is `required`.
    func covers(_ work: Work, storing required: Bool) -> Bool {
        entries.contains { counts($0) && $0.work.covers(work) && !(required && $0.state == .unstored) }
    }

    /// The newest settings that are stored.
    var settings: NotificationSettings? {
        entries.filter { counts($0) && $0.state == .ready }.compactMap(\.work.settings).last
    }

    /// The number of messages and changes, including failed ones.
    var count: Int { entries.count { $0.work.canFail && counts($0) } }

    /// The number of messages and changes that are not done.
    var waiting: Int { entries.count { $0.work.canFail && !$0.hasFailed && counts($0) } }

    /// The messages of a conversation that the server does not have, in order.
    func shown(in lane: String, except isHeld: (String) -> Bool) -> [Message] {
        entries.filter { $0.work.lane == lane && counts($0) && !isHeld($0.id) }.compactMap { entry in
            guard var message = entry.work.message else { return nil }
            if case .failed(let error) = entry.state {
                message.advance(to: .failed, at: message.statusUpdatedAt)
                message.failure = error
            }
            return message
        }
    }

    /// The changes of a conversation that the server has not made, in order.
    func changes(in lane: String) -> [MessageChange] {
        entries.filter { $0.work.lane == lane && counts($0) && !$0.hasFailed }.compactMap(\.work.change)
    }

    /// The rejected changes.
    var refused: [MessageChange] {
        entries.filter(counts).compactMap { entry in
            guard var change = entry.work.change, case .failed(let error) = entry.state else { return nil }
            change.failure = error
            return change
        }
    }
}

/// The outcome of a change, as far as a call waits for it.
enum Outcome: Sendable {
    case made(Wire.Message?)
    case refused(PresenceError)
    /// The change waits for a connection or a rate limit.
    case waits
    /// The task of the call was cancelled.
    case cancelled
}
