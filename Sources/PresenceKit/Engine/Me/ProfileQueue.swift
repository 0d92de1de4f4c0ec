import Foundation
import PresenceProtocol

/// Profile changes that are kept until the server has acknowledged them: in order, with the newest value per member.
///
/// What was sent and not answered when the connection broke is sent again: the values are whole, so a second time
/// changes nothing. Each is a ``QueuedWrite`` too, so that it outlives the process; of those not sent there is one.
struct ProfileQueue: Sendable {
    /// Changes, and the writes in the storage that they came from.
    struct Entry: Sendable {
        var changes: Wire.ProfileChanges
        var ids: [String]

        func merged(with newer: Entry) -> Entry {
            Entry(changes: changes.merged(with: newer.changes), ids: ids + newer.ids)
        }
    }

    /// A call whose change the server has stored.
    typealias Saved = (call: CallID, profile: PersonProfile)

    /// On its way.
    private var sent: Entry?
    /// Waits until `sent` is answered.
    private var next: Entry?
    /// Acknowledged, refused or replaced, and not yet out of the storage: it would come back with the next process.
    private var removing: [Entry] = []
    /// Not answered while `removing` is not empty.
    private var saved: [Saved] = []
    /// After a passing refusal, the uptime at which to try again.
    private(set) var retryAt: Duration?
    private(set) var refusal: PresenceError?

    static let kind = "profile"

    /// Everything not acknowledged, or not out of the storage.
    var waiting: Wire.ProfileChanges? {
        let entries = removing + [sent, next].compactMap(\.self)
        let changes = entries.dropFirst().reduce(entries.first) { $0?.merged(with: $1) }?.changes
        return changes.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a change has to go behind older ones.
    var isBusy: Bool { sent != nil || next != nil || !removing.isEmpty }

    /// Takes up a change; what waits unsent becomes one with it. `id` is the write that holds what is then unsent; the
    /// writes that it replaces.
    mutating func append(_ changes: Wire.ProfileChanges, id: String) -> (
        unsent: Wire.ProfileChanges, replaced: [String]
    )? {
        guard !changes.isEmpty else { return nil }
        let replaced = next?.ids ?? []
        let unsent = next?.changes.merged(with: changes) ?? changes
        next = Entry(changes: unsent, ids: [id])
        refusal = nil
        return (unsent, replaced)
    }

    /// Takes up what an earlier process left: it is older than anything here.
    mutating func recall(_ older: [Entry]) {
        let all = older + (next.map { [$0] } ?? [])
        next = all.dropFirst().reduce(all.first) { $0?.merged(with: $1) }
    }

    /// A write that could not be stored: nobody was promised it.
    mutating func withdraw(_ id: String) {
        if next?.ids == [id] { next = nil }
    }

    /// What to send now, if there is anything and nothing is on its way.
    mutating func take(at uptime: Duration) -> Wire.ProfileChanges? {
        guard sent == nil, let entry = next else { return nil }
        if let retryAt, retryAt > uptime { return nil }
        retryAt = nil
        sent = entry
        next = nil
        return entry.changes
    }

    /// The server has stored what was sent; the writes to take out of the storage.
    mutating func acknowledge() -> [String] {
        guard let entry = sent else { return [] }
        sent = nil
        removing.append(entry)
        return entry.ids
    }

    /// Writes are out of the storage.
    mutating func removed(_ ids: [String]) {
        removing.removeAll { !Set($0.ids).isDisjoint(with: ids) }
    }

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

    /// The server said no. A member that it named is dropped and the others tried again; without a name all is lost,
    /// since it is unknown which members would be accepted. The writes to take out of the storage.
    mutating func refuse(_ error: PresenceError) -> [String] {
        refusal = error
        guard var entry = sent else { return [] }
        sent = nil
        guard let field = error.field, entry.changes.drop(field), !entry.changes.isEmpty else {
            removing.append(Entry(changes: Wire.ProfileChanges(), ids: entry.ids))
            return entry.ids
        }
        next = next.map { entry.merged(with: $0) } ?? entry
        return []
    }

    /// The server could not: the same again at `uptime`.
    mutating func postpone(until uptime: Duration) {
        requeue()
        retryAt = uptime
    }

    /// The connection broke.
    mutating func requeue() {
        next = sent.map { sent in next.map { sent.merged(with: $0) } ?? sent } ?? next
        sent = nil
        retryAt = nil
    }

    /// A later change of these members has been stored: an older kept one must not overwrite it. The write `id` is to
    /// hold what is then unsent, if anything is; the writes to take out.
    mutating func supersede(
        _ changes: Wire.ProfileChanges, id: String
    ) -> (unsent: Wire.ProfileChanges?, replaced: [String])? {
        guard var entry = next else { return nil }
        entry.changes.remove(membersOf: changes)
        guard entry.changes != next?.changes else { return nil }
        let replaced = entry.ids
        removing.append(Entry(changes: Wire.ProfileChanges(), ids: replaced))
        next = entry.changes.isEmpty ? nil : Entry(changes: entry.changes, ids: [id])
        return (next?.changes, replaced)
    }
}

extension Wire.ProfileChanges {
    var isEmpty: Bool { self == Wire.ProfileChanges() }

    func merged(with newer: Wire.ProfileChanges) -> Wire.ProfileChanges {
        func pick(_ member: KeyPath<Wire.ProfileChanges, Wire.Change<String>>) -> Wire.Change<String> {
            newer[keyPath: member] == .keep ? self[keyPath: member] : newer[keyPath: member]
        }
        return Wire.ProfileChanges(
            displayName: pick(\.displayName), photoURL: pick(\.photoURL), timezone: pick(\.timezone),
            locale: pick(\.locale))
    }

    /// Takes out a member by its name on the wire; whether there was one.
    mutating func drop(_ field: String) -> Bool {
        let before = self
        switch field {
        case "displayName": displayName = .keep
        case "photoURL": photoURL = .keep
        case "timezone": timezone = .keep
        case "locale": locale = .keep
        default: break
        }
        return self != before
    }

    mutating func remove(membersOf other: Wire.ProfileChanges) {
        if other.displayName != .keep { displayName = .keep }
        if other.photoURL != .keep { photoURL = .keep }
        if other.timezone != .keep { timezone = .keep }
        if other.locale != .keep { locale = .keep }
    }
}

// As a storage keeps it.
extension QueuedWrite {
    init(_ changes: Wire.ProfileChanges, id: String, at date: Date) {
        // It cannot fail: the members are texts.
        let body = (try? JSONEncoder().encode(ProfileChanges(changes))) ?? Data()
        self.init(id: id, lane: ProfileQueue.kind, kind: ProfileQueue.kind, body: body, queuedAt: date)
    }

    /// The change, if it is one that this version can read.
    var profileChanges: ProfileQueue.Entry? {
        guard kind == ProfileQueue.kind, let changes = try? JSONDecoder().decode(ProfileChanges.self, from: body)
        else { return nil }
        return ProfileQueue.Entry(changes: changes.wire, ids: [id])
    }
}
