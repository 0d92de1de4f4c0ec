import Foundation
import PresenceProtocol

/// Profile changes until the server has acknowledged them, in order, with the newest value of each member.
///
/// Changes in flight when the connection breaks are sent again. That is safe, because their values are complete.
///
/// Each change is also a ``QueuedWrite``, so that it survives the process. It is sent only once it is stored. Otherwise
/// a process could send the change and die before it is stored. The next process would know only older changes, and
/// would overwrite it.
///
/// A write contains all unsent changes at the time it was made, and replaces the older writes once it is stored. So
/// there is one write for all unsent changes.
struct ProfileQueue: Sendable {
    /// A change, and the writes in the storage that contain it.
    struct Part: Sendable {
        var changes: Wire.ProfileChanges
        /// Oldest first.
        var ids: [String]
        /// The user who made the change, if known at the time.
        var owner: UserID?
        /// Whether an earlier process left it.
        var isRecalled = false
    }

    /// A call whose change the server has stored.
    typealias Saved = (call: CallID, profile: PersonProfile)

    /// The part that is in flight.
    private var sent: [Part]?
    /// The parts that wait for the reply to `sent`.
    private var next: [Part] = []
    /// Parts that were acknowledged, rejected or replaced, but are still in the storage, from which the next process
    /// would send them again.
    private var removing: [Part] = []
    /// The changes that are not stored yet.
    private var storing: Set<String> = []
    /// The older writes that each write replaces once it is stored.
    private var replacing: [String: [String]] = [:]
    /// Calls that end once `removing` is empty.
    private var saved: [Saved] = []
    /// After a temporary error, the uptime of the next attempt.
    private(set) var retryAt: Duration?
    private(set) var refusal: PresenceError?

    static let kind = "profile"

    /// All changes that are not acknowledged, or still in the storage.
    var waiting: Wire.ProfileChanges? {
        let changes = Self.merged(removing + (sent ?? []) + next)
        return changes.isEmpty ? nil : changes
    }

    /// Whether a new change must wait behind older ones.
    var isBusy: Bool { sent != nil || !next.isEmpty || !removing.isEmpty }

    private static func merged(_ parts: [Part]) -> Wire.ProfileChanges {
        parts.reduce(Wire.ProfileChanges()) { $0.merged(with: $1.changes) }
    }

    // MARK: Adding

    /// Adds a change. Returns the content of the write `id`: all unsent changes of this owner.
    mutating func append(_ changes: Wire.ProfileChanges, id: String, owner: UserID?) -> Wire.ProfileChanges? {
        guard !changes.isEmpty else { return nil }
        // An earlier process's changes stay separate until the server has confirmed the user.
        let older = next.filter { $0.owner == owner && !$0.isRecalled }
        if !older.isEmpty { replacing[id] = older.flatMap(\.ids) }
        next.append(Part(changes: changes, ids: [id], owner: owner))
        storing.insert(id)
        refusal = nil
        return Self.merged(older).merged(with: changes)
    }

    /// Takes over the changes of an earlier process, which are older than all changes of this process.
    mutating func recall(_ older: [Part]) {
        next = older + next
    }

    /// The user is now known. Changes of other users, left by an earlier process, are dropped; those of this process
    /// belong to the user. Returns the content of the write `id`, if a change is not yet stored under the user's name,
    /// and the writes to remove.
    mutating func adopt(_ user: UserID, id: String) -> (own: Wire.ProfileChanges?, foreign: [String]) {
        let foreign = next.filter { $0.isRecalled && $0.owner != user }.flatMap(\.ids)
        next.removeAll { $0.isRecalled && $0.owner != user }
        for index in next.indices { next[index].isRecalled = false }
        guard next.contains(where: { $0.owner != user }) else { return (nil, foreign) }
        collapse(id, owner: user)
        return (next[0].changes, foreign)
    }

    /// Merges all unsent changes into one, to be stored as the write `id`.
    private mutating func collapse(_ id: String, owner: UserID?) {
        let older = next.flatMap(\.ids)
        replacing[id] = older
        next = [Part(changes: Self.merged(next), ids: older + [id], owner: owner)]
    }

    // MARK: The storage

    /// A write is stored; returns the older writes to remove, which it replaces.
    mutating func stored(_ id: String) -> [String] {
        storing.remove(id)
        guard let replaced = replacing.removeValue(forKey: id).map(Set.init),
            let index = next.firstIndex(where: { $0.ids.last == id })
        else { return [] }
        let older = next[..<index].filter { replaced.isSuperset(of: $0.ids) }
        let gone = older.flatMap(\.ids) + next[index].ids.dropLast()
        next[index].changes = Self.merged(older).merged(with: next[index].changes)
        next[index].ids = [id]
        let places = next[..<index].indices.filter { replaced.isSuperset(of: next[$0].ids) }
        for place in places.reversed() { next.remove(at: place) }
        return gone
    }

    /// A write could not be stored: its change is dropped, unless another write contains it too. Returns whether
    /// another write does, so that the server may still receive the change.
    mutating func withdraw(_ id: String) -> Bool {
        storing.remove(id)
        replacing[id] = nil
        let isAlone = next.contains { $0.ids == [id] }
        next.removeAll { $0.ids == [id] }
        for index in next.indices { next[index].ids.removeAll { $0 == id } }
        return !isAlone
    }

    /// Writes were removed from the storage.
    mutating func removed(_ ids: [String]) {
        removing.removeAll { !Set($0.ids).isDisjoint(with: ids) }
    }

    // MARK: The server

    /// The changes to send now: the stored ones, if none is in flight.
    mutating func take(at uptime: Duration) -> Wire.ProfileChanges? {
        guard sent == nil, !next.isEmpty else { return nil }
        if let retryAt, retryAt > uptime { return nil }
        retryAt = nil
        let stored = next.prefix { storing.isDisjoint(with: $0.ids) }
        guard !stored.isEmpty else { return nil }
        next.removeFirst(stored.count)
        sent = Array(stored)
        return Self.merged(sent!)
    }

    /// The server has stored the changes in flight; returns the writes to remove.
    mutating func acknowledge() -> [String] {
        defer { sent = nil }
        removing += sent?.filter { !$0.ids.isEmpty } ?? []
        return sent?.flatMap(\.ids) ?? []
    }

    /// The server rejected the changes in flight. The member named by the error is dropped and the others are sent
    /// again. Without a name all are dropped, because it is unknown which members the server would accept. Returns the
    /// writes to remove.
    mutating func refuse(_ error: PresenceError) -> [String] {
        refusal = error
        guard let parts = sent else { return [] }
        sent = nil
        var rest = parts
        if let field = error.field {
            for index in rest.indices { _ = rest[index].changes.drop(field) }
        }
        let isDropped = Self.merged(rest) != Self.merged(parts)
        let gone = (isDropped ? rest.filter(\.changes.isEmpty) : parts).flatMap(\.ids)
        if !gone.isEmpty { removing.append(Part(changes: Wire.ProfileChanges(), ids: gone)) }
        if isDropped { next = rest.filter { !$0.changes.isEmpty } + next }
        return gone
    }

    /// A temporary error: send the same changes again at `uptime`.
    mutating func postpone(until uptime: Duration) {
        requeue()
        retryAt = uptime
    }

    /// The connection broke.
    mutating func requeue() {
        next = (sent ?? []) + next
        sent = nil
        retryAt = nil
    }

    // MARK: Changes outside the queue

    /// The server has stored a change that bypassed the queue. Its call ends once the storage has no older change. If
    /// the process died before that, the next process would send the older change and overwrite this one.
    mutating func hold(_ call: CallID, _ profile: PersonProfile) {
        saved.append((call, profile))
    }

    /// The calls that can end.
    mutating func takeSaved() -> [Saved] {
        guard removing.isEmpty else { return [] }
        defer { saved = [] }
        return saved
    }

    func isSaved(_ call: CallID) -> Bool { saved.contains { $0.call == call } }

    /// A later change of these members was stored, so older pending ones must not overwrite it. Returns the content of
    /// the write `id` if anything remains unsent, and the writes to remove.
    mutating func supersede(
        _ changes: Wire.ProfileChanges, id: String
    ) -> (unsent: Wire.ProfileChanges?, replaced: [String])? {
        let before = Self.merged(next)
        for index in next.indices { next[index].changes.remove(membersOf: changes) }
        guard Self.merged(next) != before else { return nil }
        let older = next.flatMap(\.ids)
        removing.append(Part(changes: Wire.ProfileChanges(), ids: older))
        if Self.merged(next).isEmpty {
            next = []
            return (nil, older)
        }
        collapse(id, owner: next.last?.owner)
        return (next[0].changes, [])
    }
}
