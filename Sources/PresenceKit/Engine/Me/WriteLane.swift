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
    /// Puts a later change on top.
    mutating func merge(_ later: Self)
    /// The rest that must be sent once the server has stored another change; `nil` if there is none.
    func left(after stored: Self) -> Self?
    /// The rest that the server may accept without the member that it rejected; `nil` if there is none.
    func left(without field: String?) -> Self?
}

/// The user's changes of one object, their status or their profile, until the server has replied to them. For each
/// member the newest one counts.
///
/// A change that is reported as queued is also a ``QueuedWrite``, so that it survives the process. A write contains all
/// unsent changes at the time it was made, and replaces the older writes once it is stored. So there is one write for all
/// unsent changes. Changes in flight have their own writes, which are removed on the reply. If the connection breaks
/// before it, they are sent again, which is safe, because their values are complete.
struct WriteLane<Body: LaneBody>: Sendable {
    struct Part: Sendable {
        var body: Body
        /// The writes in the storage that contain it, oldest first.
        var ids: [String] = []
        /// The user who made the change, if known at the time.
        var owner: UserID?
        /// Whether an earlier process left it, and its user is not known to be this one.
        var isRecalled = false
        /// Whether a call has returned, or will return, that it is queued.
        var isPromised = false
        /// The calls that wait for the server.
        var calls: [CallID] = []
        /// Whether some of it was sent on a connection that broke before the reply.
        var wasSent = false

        mutating func merge(_ later: Part) {
            body.merge(later.body)
            (ids, calls, owner) = (ids + later.ids, calls + later.calls, later.owner ?? owner)
            (isPromised, wasSent) = (isPromised || later.isPromised, wasSent || later.wasSent)
        }
    }

    /// A change in flight.
    typealias Ticket = Int
    /// A change to be sent.
    typealias Sending = (ticket: Ticket, body: Body)

    enum Operation: Sendable {
        case store(String, Body, UserID?)
        case remove([String])
    }

    /// The parts that are not sent, oldest first.
    var next: [Part] = []
    var sent: [Ticket: Part] = [:]
    var lastTicket: Ticket = 0
    /// Writes that were acknowledged, rejected or replaced, but are still in the storage, from which the next process
    /// would send them again; with what the app still sees as pending.
    var removing: [(ids: [String], body: Body?)] = []
    /// The writes that are not stored yet: the calls that wait for each, and the older writes that it replaces.
    var storing: [String: (calls: [CallID], replaced: [String])] = [:]
    var operations: [Operation] = []
    /// Calls whose change the server has stored; they end once `removing` is empty.
    var saved: [(call: CallID, reply: Reply)] = []
    /// After a temporary error, the uptime of the next attempt.
    var retryAt: Duration?
    /// Why a promised change was rejected; kept until the next change.
    var refusal: PresenceError?

    // MARK: Contents

    /// All changes that are not acknowledged, or still in the storage.
    var waiting: Body? {
        Self.merged(removing.compactMap(\.body) + sent.sorted { $0.key < $1.key }.map(\.value.body) + next.map(\.body))
    }

    /// Whether a new change must wait behind older ones.
    var isBusy: Bool { !sent.isEmpty || !next.isEmpty || !removing.isEmpty }

    /// The user's queued change that the server has neither accepted nor rejected.
    func promised(to user: UserID?) -> Body? {
        let unsent = next.filter { !$0.isRecalled || $0.owner == user }
        let kept = unsent.contains(where: \.isPromised) ? unsent : sent.values.filter(\.isPromised)
        return Self.merged(kept.map(\.body))
    }

    func isPromised(_ ticket: Ticket) -> Bool { sent[ticket]?.isPromised == true }

    /// Whether the change of a call may have been made, or may still be.
    func mayBeDone(for call: CallID) -> Bool {
        (next + sent.values).contains { $0.calls.contains(call) } || saved.contains { $0.call == call }
            || storing.values.contains { $0.calls.contains(call) }
    }

    static func merged(_ bodies: [Body]) -> Body? {
        bodies.dropFirst().reduce(into: bodies.first) { $0?.merge($1) }
    }

    // MARK: Adding

    /// The app makes a new change, so an earlier rejection no longer matters.
    mutating func forgetRefusal() { refusal = nil }

    /// Keeps a change in memory until it is sent.
    mutating func choose(_ body: Body, for call: CallID) { next.append(Part(body: body, calls: [call])) }

    /// There is no connection to wait for: what calls wait for is stored, and they end then.
    mutating func release(as id: String = UUID().uuidString, owner: UserID?) {
        if next.contains(where: { !$0.calls.isEmpty }) { collapse(id, owner) }
    }

    /// Stores a change; its call ends then.
    mutating func append(_ body: Body, for call: CallID, as id: String = UUID().uuidString, owner: UserID?) {
        // An earlier process's changes stay separate until the server has confirmed the user.
        let older = next.filter { $0.owner == owner && !$0.isRecalled }
        next.append(Part(body: body, ids: [id], owner: owner, isPromised: true))
        store(id, Self.merged(older.map(\.body) + [body])!, owner, for: [call], replacing: older.flatMap(\.ids))
        refusal = nil
    }

    /// Takes over the changes of an earlier process, which are older than all of this process. Those without an owner are
    /// removed, because their user is unknown.
    mutating func recall(_ writes: [QueuedWrite], at now: Moment) {
        let parts = writes.filter { $0.kind == Body.kind }.compactMap { write in
            Body(stored: write.body, at: now).map {
                Part(
                    body: $0, ids: [write.id], owner: write.owner.flatMap(UserID.init), isRecalled: true,
                    isPromised: true)
            }
        }
        next = parts.filter { $0.owner != nil } + next
        remove(parts.filter { $0.owner == nil }.flatMap(\.ids))
    }

    /// The token names the user: what an earlier process promised them can be sent.
    mutating func identify(as user: UserID) {
        for index in next.indices where next[index].owner == user { next[index].isRecalled = false }
    }

    /// The server has confirmed the user. Changes of other users, left by an earlier process, are dropped; those of this
    /// process belong to the user, and are stored under the user's name.
    ///
    /// - Parameter stored: a change of this process that the server has already stored.
    mutating func adopt(_ user: UserID, after stored: Body? = nil, as id: String = UUID().uuidString) {
        remove(next.filter { $0.isRecalled && $0.owner != user }.flatMap(\.ids))
        next.removeAll { $0.isRecalled && $0.owner != user }
        let isUnnamed = next.contains { !$0.ids.isEmpty && $0.owner != user }
        for index in next.indices { (next[index].isRecalled, next[index].owner) = (false, user) }
        if isUnnamed { collapse(id, user) }
        if let stored { supersede(stored) }
    }

    /// Merges all unsent changes into one, stored as the write `id`.
    mutating func collapse(_ id: String, _ owner: UserID?) {
        let parts = next.filter { !$0.isRecalled }
        guard var whole = parts.first else { return }
        for part in parts.dropFirst() { whole.merge(part) }
        store(id, whole.body, owner, for: whole.calls, replacing: whole.ids)
        (whole.owner, whole.isPromised, whole.calls) = (owner, true, [])
        whole.ids.append(id)
        next = next.filter(\.isRecalled) + [whole]
    }
}
