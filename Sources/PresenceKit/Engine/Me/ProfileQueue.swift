import Foundation
import PresenceProtocol

/// Profile changes that are kept until the server has acknowledged them: in order, with the newest value per member.
///
/// What was sent and not answered when the connection broke is sent again: the values are whole, so a second time
/// changes nothing. Each is a ``QueuedWrite`` too, so that it outlives the process, and is sent once it is in the storage:
/// a process that died in between would be followed by one that knows only older changes, and sends them over it. Of those
/// not sent there is one: a write holds all that was unsent when it was made, and takes the place of the older ones once it
/// is in the storage.
struct ProfileQueue: Sendable {
    /// A change as it was made, and the writes in the storage that hold it.
    struct Part: Sendable {
        var changes: Wire.ProfileChanges
        /// Oldest first.
        var ids: [String]
        /// Whose it is, as far as that was known when it was made.
        var owner: UserID?
        /// Whether an earlier process left it.
        var isRecalled = false
    }

    /// A call whose change the server has stored.
    typealias Saved = (call: CallID, profile: PersonProfile)

    /// On its way.
    private var sent: [Part]?
    /// Waits until `sent` is answered.
    private var next: [Part] = []
    /// Acknowledged, refused or replaced, and not yet out of the storage: it would come back with the next process.
    private var removing: [Part] = []
    /// The changes that are not in the storage yet.
    private var storing: Set<String> = []
    /// The older writes of which each write takes the place when it is stored.
    private var replacing: [String: [String]] = [:]
    /// Not answered while `removing` is not empty.
    private var saved: [Saved] = []
    /// After a passing refusal, the uptime at which to try again.
    private(set) var retryAt: Duration?
    private(set) var refusal: PresenceError?

    static let kind = "profile"

    /// Everything not acknowledged, or not out of the storage.
    var waiting: Wire.ProfileChanges? {
        let changes = Self.merged(removing + (sent ?? []) + next)
        return changes.isEmpty ? nil : changes
    }

    /// Whether a change has to go behind older ones.
    var isBusy: Bool { sent != nil || !next.isEmpty || !removing.isEmpty }

    private static func merged(_ parts: [Part]) -> Wire.ProfileChanges {
        parts.reduce(Wire.ProfileChanges()) { $0.merged(with: $1.changes) }
    }

    // MARK: What comes in

    /// Takes up a change; what the write `id` has to hold, which is all of this owner's that waits unsent.
    mutating func append(_ changes: Wire.ProfileChanges, id: String, owner: UserID?) -> Wire.ProfileChanges? {
        guard !changes.isEmpty else { return nil }
        // What an earlier process left stays apart until the server has said who the user is.
        let older = next.filter { $0.owner == owner && !$0.isRecalled }
        if !older.isEmpty { replacing[id] = older.flatMap(\.ids) }
        next.append(Part(changes: changes, ids: [id], owner: owner))
        storing.insert(id)
        refusal = nil
        return Self.merged(older).merged(with: changes)
    }

    /// Takes up what an earlier process left: it is older than anything here.
    mutating func recall(_ older: [Part]) {
        next = older + next
    }

    /// It is known who the user is. What an earlier process left of another one goes; what this process took up is the
    /// user's, and the write `id` is to say so: what it has to hold, if anything does not say so yet, and the writes to
    /// take out.
    mutating func adopt(_ user: UserID, id: String) -> (own: Wire.ProfileChanges?, foreign: [String]) {
        let foreign = next.filter { $0.isRecalled && $0.owner != user }.flatMap(\.ids)
        next.removeAll { $0.isRecalled && $0.owner != user }
        for index in next.indices { next[index].isRecalled = false }
        guard next.contains(where: { $0.owner != user }) else { return (nil, foreign) }
        collapse(id, owner: user)
        return (next[0].changes, foreign)
    }

    /// All that is unsent becomes one, which the write `id` is to hold.
    private mutating func collapse(_ id: String, owner: UserID?) {
        let older = next.flatMap(\.ids)
        replacing[id] = older
        next = [Part(changes: Self.merged(next), ids: older + [id], owner: owner)]
    }

    // MARK: The storage

    /// A write is in the storage; the older ones to take out, whose place it takes.
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

    /// A write could not be stored: nobody is promised it, and what other writes hold stays. Whether the server may be told
    /// of it all the same, because another write holds it.
    mutating func withdraw(_ id: String) -> Bool {
        storing.remove(id)
        replacing[id] = nil
        let isAlone = next.contains { $0.ids == [id] }
        next.removeAll { $0.ids == [id] }
        for index in next.indices { next[index].ids.removeAll { $0 == id } }
        return !isAlone
    }

    /// Writes are out of the storage.
    mutating func removed(_ ids: [String]) {
        removing.removeAll { !Set($0.ids).isDisjoint(with: ids) }
    }

    // MARK: The server

    /// What to send now, if anything of what is stored waits and nothing is on its way.
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

    /// The server has stored what was sent; the writes to take out of the storage.
    mutating func acknowledge() -> [String] {
        defer { sent = nil }
        removing += sent?.filter { !$0.ids.isEmpty } ?? []
        return sent?.flatMap(\.ids) ?? []
    }

    /// The server said no. A member that it named is dropped and the others tried again; without a name all is lost,
    /// since it is unknown which members would be accepted. The writes to take out of the storage.
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

    /// The server could not: the same again at `uptime`.
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

    // MARK: Changes beside the queue

    /// A change beside the queue is stored by the server. Its call is answered when the storage holds none that is older:
    /// a process that died before would make that one again, over this.
    mutating func hold(_ call: CallID, _ profile: PersonProfile) {
        saved.append((call, profile))
    }

    /// The calls that can be answered.
    mutating func takeSaved() -> [Saved] {
        guard removing.isEmpty else { return [] }
        defer { saved = [] }
        return saved
    }

    func isSaved(_ call: CallID) -> Bool { saved.contains { $0.call == call } }

    /// A later change of these members has been stored: an older kept one must not overwrite it. The write `id` is to
    /// hold what is then unsent, if anything is; else the writes to take out.
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
