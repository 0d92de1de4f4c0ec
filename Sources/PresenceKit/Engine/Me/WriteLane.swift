import Foundation
import PresenceProtocol

/// The content of a lane's changes, and the rules by which they merge.
protocol LaneBody: Equatable, Sendable {
    /// The name of the lane, and the kind of its writes.
    static var kind: String { get }
    /// Whether changes are sent only once they are stored, and one request at a time. Otherwise a process could send a
    /// change and die before it is stored. The next process would know only older changes, and would overwrite it.
    static var waitsForStorage: Bool { get }
    /// The result of a call whose change is stored.
    static var queued: Reply { get }

    /// Reads the content of a write; `nil` if a later version has made it, for which it stays in the storage.
    init?(stored: Data, at now: Moment)
    func encoded(at now: Moment) -> Data
    /// Adds another change. A member gets the value of the later call, or the other one's if both are as late.
    mutating func merge(_ other: Self)
    /// The rest that must be sent once the server has stored another change; `nil` if there is none.
    func left(after stored: Self) -> Self?
    /// The rest that the server may accept without the member that it rejected; `nil` if there is none.
    func left(without field: String?) -> Self?
}

/// The user's changes of one object, their status or their profile, until the server has replied to them. For each
/// member the newest one counts.
///
/// A change that is reported as queued is also a ``QueuedWrite``, so that it survives the process. A write contains all
/// unsent changes at the time it was made, and replaces the older writes once it is stored. Changes in flight keep theirs
/// until the reply. If the connection breaks before it, they are sent again, which is safe, because their values are
/// complete. A write is removed once no part needs it.
struct WriteLane<Body: LaneBody>: Sendable {
    struct Part: Sendable {
        var body: Body
        /// The changes that it consists of. The rest of a change, without a member, is another change.
        var changes: Set<Int> = []
        /// The writes that contain it, also in an older form; oldest first.
        var ids: [String] = []
        /// The user to whom it was promised or sent, if known at the time. It is never sent to another one.
        var owner: UserID?
        /// Whether a call has returned, or will return, that it is queued.
        var isPromised = false
        /// Whether it could not be stored again, so that the storage has it in an older form only.
        var isUnstorable = false
        /// The calls that wait for the server.
        var calls: [CallID] = []
        /// Whether some of it was sent on a connection that broke before the reply.
        var wasSent = false

        mutating func merge(_ later: Part) {
            body.merge(later.body)
            changes.formUnion(later.changes)
            (ids, calls, owner) = (ids + later.ids, calls + later.calls, later.owner ?? owner)
            (isPromised, wasSent) = (isPromised || later.isPromised, wasSent || later.wasSent)
            isUnstorable = isUnstorable || later.isUnstorable
        }

        func belongs(to user: UserID?) -> Bool { owner == nil || owner == user }
    }

    /// A change in flight.
    typealias Ticket = Int
    /// A change to be sent.
    typealias Sending = (ticket: Ticket, body: Body)

    /// The parts that are not sent, oldest first.
    var next: [Part] = []
    var sent: [Ticket: Part] = [:]
    var lastTicket: Ticket = 0
    private var lastChange = 0
    /// Those in the storage, or on the way into or out of it; oldest first.
    var writes: [Write] = []
    /// Calls whose change the server has stored; they end once the storage has no older one.
    var saved: [(call: CallID, reply: Reply)] = []
    /// After a temporary error, the uptime of the next attempt.
    var retryAt: Duration?
    /// Why a promised change was rejected; kept until the next change.
    var refusal: PresenceError?
    /// The user of the newest token, or of the connection; `nil` if unknown.
    private(set) var user: UserID?
    /// The changes of this process that the server has stored. Those in flight may be older.
    var accepted: Body?

    // MARK: Contents

    /// All changes of a user that are not acknowledged, or still in the storage.
    func waiting(of user: UserID?) -> Body? {
        let unsent = next.filter { $0.belongs(to: user) }
        let accepted = writes.filter { $0.owner == nil || $0.owner == user }.compactMap(\.accepted)
        return Self.merged(
            accepted + sent.sorted { $0.key < $1.key }.map(\.value.body) + unsent.map(\.body))
    }

    /// Whether a new change must wait behind older ones.
    var isBusy: Bool { !sent.isEmpty || !next.isEmpty || hasOldWrites }

    /// The user's queued change that the server has neither accepted nor rejected.
    func promised(to user: UserID?) -> Body? {
        let unsent = next.filter { $0.belongs(to: user) }
        let kept = unsent.contains(where: \.isPromised) ? unsent : sent.values.filter(\.isPromised)
        return Self.merged(kept.map(\.body))
    }

    func isPromised(_ ticket: Ticket) -> Bool { sent[ticket]?.isPromised == true }

    /// Whether the change of a call may have been made, or may still be.
    func mayBeDone(for call: CallID) -> Bool {
        wasSent(for: call) || next.contains { $0.calls.contains(call) } || writes.contains { $0.calls.contains(call) }
    }

    /// Whether the change of a call may have been made.
    func wasSent(for call: CallID) -> Bool {
        let ids = writes.filter { $0.calls.contains(call) }.map(\.id)
        return saved.contains { $0.call == call }
            || (next.filter(\.wasSent) + sent.values).contains { part in
                part.calls.contains(call) || part.ids.contains(where: ids.contains)
            }
    }

    static func merged(_ bodies: [Body]) -> Body? {
        bodies.dropFirst().reduce(into: bodies.first) { $0?.merge($1) }
    }

    // MARK: Adding

    /// The app makes a new change, so an earlier rejection no longer matters.
    mutating func forgetRefusal() { refusal = nil }

    mutating func newChange() -> Int {
        lastChange += 1
        return lastChange
    }

    /// Keeps a change in memory until it is sent.
    mutating func choose(_ body: Body, for call: CallID, owner: UserID?) {
        next.append(Part(body: body, changes: [newChange()], owner: owner, calls: [call]))
    }

    /// There is no connection to wait for: what calls wait for is stored, and they end then.
    mutating func release(as id: String = UUID().uuidString, owner: UserID?) {
        if next.contains(where: { !$0.calls.isEmpty }) { collapse(id, owner) }
    }

    /// Stores a change; its call ends then.
    mutating func append(_ body: Body, for call: CallID, as id: String = UUID().uuidString, owner: UserID?) {
        next.append(Part(body: body, changes: [newChange()], ids: [id], owner: owner, isPromised: true))
        store(id, next.filter { $0.owner == owner }, owner, for: [call])
        refusal = nil
    }

    /// Takes over the changes of an earlier process, which are older than all of this process. Those without an owner are
    /// removed, because their user is unknown.
    mutating func recall(_ found: [QueuedWrite], at now: Moment) {
        let parts = found.filter { $0.kind == Body.kind }.compactMap { write in
            Body(stored: write.body, at: now).map {
                Part(
                    body: $0, changes: [newChange()], ids: [write.id], owner: write.owner.flatMap(UserID.init),
                    isPromised: true)
            }
        }
        writes =
            parts.map { Write(id: $0.ids[0], body: $0.body, owner: $0.owner, changes: $0.changes, state: .stored) }
            + writes
        next = parts.filter { $0.owner != nil } + next
    }

    /// The token names the user: changes that were promised to them can be sent. Those of others wait, because the next
    /// token may be theirs again. If it names none, all wait until the server has confirmed the user.
    mutating func identify(as user: UserID?) { self.user = user }

    /// The token names another user. Only what was promised stays, until the server has confirmed them.
    mutating func leave() {
        next = next.filter { $0.isPromised && $0.owner != nil }
        (accepted, refusal, user) = (nil, nil, nil)
    }

    /// Whether it belongs to a user who is not known to be the present one.
    func isForeign(_ part: Part) -> Bool { !part.belongs(to: user) }

    /// The server has confirmed the user. Changes of other users are dropped; those without an owner belong to the user,
    /// and are stored under the user's name.
    ///
    /// - Parameter stored: a change of this process that the server has already stored.
    mutating func adopt(_ user: UserID, after stored: Body? = nil, as id: String = UUID().uuidString) {
        self.user = user
        next = next.filter { $0.belongs(to: user) }
        let isUnnamed = next.contains { !$0.ids.isEmpty && $0.owner == nil }
        for index in next.indices { next[index].owner = user }
        if isUnnamed { collapse(id, user) }
        if let stored { supersede(stored) }
    }

    /// Merges all unsent changes of a user into one, stored as the write `id`.
    mutating func collapse(_ id: String, _ owner: UserID?) {
        let parts = next.filter { $0.belongs(to: owner) }
        guard var whole = parts.first else { return }
        for part in parts.dropFirst() { whole.merge(part) }
        store(id, [whole], owner, for: whole.calls)
        (whole.owner, whole.isPromised, whole.calls) = (owner, true, [])
        whole.ids.append(id)
        next = next.filter { !$0.belongs(to: owner) } + [whole]
    }
}
