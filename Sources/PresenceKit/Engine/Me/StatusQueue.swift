import Foundation
import PresenceProtocol

/// The chosen status until the server has acknowledged it. A choice reported as queued is also a ``QueuedWrite``, so
/// that it survives the process.
///
/// A write contains all unsent choices at the time it was made, and replaces the older writes once it is stored. A
/// choice in flight has its own writes, which are removed on the reply.
struct StatusQueue: Sendable {
    private(set) var pending: PendingStatus?
    /// After a temporary error, the uptime of the next attempt.
    private(set) var retryAt: Duration?
    /// The choices of an earlier process, by user, until the user is known.
    private var recalled: [UserID: PendingStatus] = [:]
    /// The calls that wait for each write to be stored, and the writes that it replaces.
    private var storing: [String: (calls: [CallID], replaced: [String])] = [:]
    /// Writes that were acknowledged or rejected, but are still in the storage, from which the next process would send
    /// them again.
    private var removing: Set<String> = []
    /// The choice that was reported as queued, including while it is in flight.
    private var promised: Wire.ChosenStatus?
    /// Why a promised choice was rejected; kept until the next choice.
    private(set) var refusal: PresenceError?
    /// Calls whose choice the server has stored; they end once `removing` is empty.
    private var saved: [CallID] = []

    static let kind = "status"

    /// Whether a choice waits for a rate limit.
    var isPostponed: Bool { retryAt != nil }

    /// The user's queued choice that the server has neither accepted nor rejected.
    func queued(for user: UserID?) -> Wire.ChosenStatus? { promised ?? user.flatMap { recalled[$0]?.status } }

    // MARK: Adding

    /// Keeps choices until they are sent or sent again; the latest one wins for each member.
    mutating func choose(_ chosen: [PendingStatus]) {
        for status in chosen {
            if pending == nil { pending = status } else { pending!.merge(status) }
        }
        recordPromise()
    }

    /// Notes the pending choice if it is promised, or will be once it is stored.
    private mutating func recordPromise() {
        if let pending, pending.isPromised { promised = pending.status }
    }

    /// The server has accepted or rejected a choice.
    private mutating func end(_ choice: PendingStatus) {
        guard choice.isPromised else { return }
        promised = nil
        recordPromise()
    }

    /// The app made a new choice, so an earlier rejection no longer matters.
    mutating func forgetRefusal() { refusal = nil }

    /// The server rejected this choice for good.
    mutating func refuse(_ choice: PendingStatus, _ error: PresenceError) {
        if choice.isPromised { refusal = error }
        end(choice)
    }

    /// The server accepts this choice only later.
    mutating func postpone(_ status: PendingStatus, until uptime: Duration) {
        choose([status])
        retryAt = uptime
    }

    /// Takes over the choices that an earlier process promised, in their order.
    mutating func recall(_ writes: [QueuedWrite], at now: Moment) {
        for write in writes where write.kind == Self.kind {
            // Writes of a later version stay in the storage for that version.
            guard let owner = write.owner.flatMap(UserID.init),
                let stored = try? JSONDecoder().decode(StoredStatus.self, from: write.body)
            else { continue }
            let status = PendingStatus(write.id, stored, at: now)
            if recalled[owner] == nil { recalled[owner] = status } else { recalled[owner]!.merge(with: status) }
        }
    }

    /// The user is now known: the choices that an earlier process promised them become pending, except for what `told`
    /// replaces, a choice of this process that the server has already stored.
    ///
    /// - Returns: the writes that can be removed.
    mutating func adopt(_ user: UserID, after told: PendingStatus? = nil) -> [String] {
        guard var older = recalled.removeValue(forKey: user) else { return [] }
        if let told, !older.isLeft(after: told) {
            removing.formUnion(older.writes)
            return older.writes
        }
        choose([older])
        return []
    }

    /// The server has confirmed the user; the storage drops the writes of others.
    mutating func forgetOthers() {
        recalled = [:]
    }

    // MARK: The storage

    /// Ends the wait for a connection: the pending choice is stored as the write `id`.
    ///
    /// - Returns: the content of the write; `nil` if no call waits.
    mutating func release(_ id: String, at now: Moment) -> StoredStatus? {
        guard let calls = pending?.promise(), !calls.isEmpty else { return nil }
        recordPromise()
        storing[id] = (calls, pending!.writes)
        pending!.writes.append(id)
        return pending!.stored(at: now)
    }

    /// A write was stored, or could not be stored. Returns the calls that waited for it and the writes that can be
    /// removed, or `nil` if it is not a status.
    mutating func stored(_ id: String, _ isStored: Bool) -> (calls: [CallID], gone: [String])? {
        guard let (calls, replaced) = storing.removeValue(forKey: id) else { return nil }
        let gone = isStored ? replaced : [id]
        pending?.writes.removeAll { gone.contains($0) }
        return (calls, isStored ? gone : [])
    }

    /// Writes were removed from the storage.
    mutating func removed(_ ids: [String]) {
        removing.subtract(ids)
    }

    // MARK: The server

    mutating func take() -> PendingStatus? {
        defer { (pending, retryAt) = (nil, nil) }
        return pending
    }

    /// A new connection begins, with a fresh rate limit.
    mutating func begin() {
        retryAt = nil
    }

    /// The server has stored this choice; returns the writes that can be removed.
    mutating func acknowledge(_ held: PendingStatus) -> [String] {
        saved += held.calls
        var gone = held.writes
        if pending?.isLeft(after: held) == false, let done = take() {
            saved += done.calls
            gone += done.writes
            end(done)
        }
        end(held)
        removing.formUnion(gone)
        return gone
    }

    /// The calls that can end. If the process died before an older choice is removed, the next process would send that
    /// choice and overwrite theirs.
    mutating func takeSaved() -> [CallID] {
        guard removing.isEmpty else { return [] }
        defer { saved = [] }
        return saved
    }

    /// There will be no connection. A promised choice waits until the app connects again; the calls of any other choice
    /// must be answered now.
    mutating func close() -> PendingStatus? {
        guard pending?.isPromised == true else { return take() }
        retryAt = nil
        var unanswered = pending
        unanswered?.wasSent = true
        _ = pending!.promise()
        recordPromise()
        return unanswered
    }

    /// Whether the choice of a call may have been applied, or may still be.
    func mayBeDone(for call: CallID) -> Bool {
        pending?.calls.contains(call) == true || storing.values.contains { $0.calls.contains(call) }
            || saved.contains(call)
    }
}
