import Foundation
import PresenceProtocol

/// The status that the app chose, kept until the server has acknowledged it. What somebody is told is queued is a
/// ``QueuedWrite`` too, so that it outlives the process.
///
/// A write holds all that waits unsent when it is made, and takes the place of the older ones of that once it is in the
/// storage. What is on its way has writes of its own, which go with the answer.
struct StatusQueue: Sendable {
    private(set) var pending: PendingStatus?
    /// After a refusal that passes, the uptime at which to send it.
    private(set) var retryAt: Duration?
    /// What an earlier process left of each user, until it is known who the user is.
    private var recalled: [UserID: PendingStatus] = [:]
    /// The calls that wait until a write is in the storage, and the writes whose place it takes.
    private var storing: [String: (calls: [CallID], replaced: [String])] = [:]
    /// Answered, and not yet out of the storage: it would come back with the next process.
    private var removing: Set<String> = []
    /// The choice that somebody was told is queued, also while it is on its way.
    private var promised: Wire.ChosenStatus?
    /// Why such a choice was refused, until the next one.
    private(set) var refusal: PresenceError?
    /// The calls whose choice the server holds, not answered while `removing` is not empty.
    private var saved: [CallID] = []

    static let kind = "status"

    /// Whether a choice waits for the end of a rate limit.
    var isPostponed: Bool { retryAt != nil }

    /// The choice of a user that was queued and that the server has neither made nor refused.
    func queued(for user: UserID?) -> Wire.ChosenStatus? { promised ?? user.flatMap { recalled[$0]?.status } }

    // MARK: What comes in

    /// Keeps choices until they are sent, or sent again: of each member the latest counts.
    mutating func choose(_ chosen: [PendingStatus]) {
        for status in chosen {
            if pending == nil { pending = status } else { pending!.merge(status) }
        }
        notePromise()
    }

    /// What waits is promised, or will be as soon as that is stored.
    private mutating func notePromise() {
        if let pending, pending.isPromised { promised = pending.status }
    }

    /// The server has made or refused a choice.
    private mutating func end(_ choice: PendingStatus) {
        guard choice.isPromised else { return }
        promised = nil
        notePromise()
    }

    /// The app chooses anew: an earlier refusal is of no interest.
    mutating func forgetRefusal() { refusal = nil }

    /// The server will never take this choice.
    mutating func refuse(_ choice: PendingStatus, _ error: PresenceError) {
        if choice.isPromised { refusal = error }
        end(choice)
    }

    /// The server wants this choice later.
    mutating func postpone(_ status: PendingStatus, until uptime: Duration) {
        choose([status])
        retryAt = uptime
    }

    /// Takes up what an earlier process promised, in its order.
    mutating func recall(_ writes: [QueuedWrite], at now: Moment) {
        for write in writes where write.kind == Self.kind {
            // What a later version wrote stays for that one.
            guard let owner = write.owner.flatMap(UserID.init),
                let stored = try? JSONDecoder().decode(StoredStatus.self, from: write.body)
            else { continue }
            let status = PendingStatus(write.id, stored, at: now)
            if recalled[owner] == nil { recalled[owner] = status } else { recalled[owner]!.follow(with: status) }
        }
    }

    /// It is known who the user is: what an earlier process promised them is to be done, but for what `told` has overtaken,
    /// which was chosen here and which the server holds already.
    ///
    /// - Returns: the writes that can go.
    mutating func adopt(_ user: UserID, after told: PendingStatus? = nil) -> [String] {
        guard var older = recalled.removeValue(forKey: user) else { return [] }
        if let told, !older.isLeft(after: told) {
            removing.formUnion(older.writes)
            return older.writes
        }
        choose([older])
        return []
    }

    /// The server has said who the user is: the storage drops what is others'.
    mutating func forgetOthers() {
        recalled = [:]
    }

    // MARK: The storage

    /// The calls that wait for a connection do not wait any longer: what they chose goes into the storage as the write `id`.
    ///
    /// - Returns: what the write holds; `nil` if nobody waits.
    mutating func release(_ id: String, at now: Moment) -> StoredStatus? {
        guard let calls = pending?.promise(), !calls.isEmpty else { return nil }
        notePromise()
        storing[id] = (calls, pending!.writes)
        pending!.writes.append(id)
        return pending!.stored(at: now)
    }

    /// A write is in the storage, or cannot be: the calls that waited for that, and the writes that can go; `nil` if it is
    /// not one of a status.
    mutating func stored(_ id: String, _ isStored: Bool) -> (calls: [CallID], gone: [String])? {
        guard let (calls, replaced) = storing.removeValue(forKey: id) else { return nil }
        let gone = isStored ? replaced : [id]
        pending?.writes.removeAll { gone.contains($0) }
        return (calls, isStored ? gone : [])
    }

    /// Writes are out of the storage.
    mutating func removed(_ ids: [String]) {
        removing.subtract(ids)
    }

    // MARK: The server

    mutating func take() -> PendingStatus? {
        defer { (pending, retryAt) = (nil, nil) }
        return pending
    }

    /// A new connection: nothing is too fast on it yet.
    mutating func begin() {
        retryAt = nil
    }

    /// The server holds this choice: the writes that can go.
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

    /// The calls that can be answered: a process that died before would make an older choice again, over theirs.
    mutating func takeSaved() -> [CallID] {
        guard removing.isEmpty else { return [] }
        defer { saved = [] }
        return saved
    }

    /// No connection will be made: what was promised waits for the app to ask for one; what was not has to be answered.
    mutating func close() -> PendingStatus? {
        guard pending?.isPromised == true else { return take() }
        retryAt = nil
        var unanswered = pending
        unanswered?.wasSent = true
        _ = pending!.promise()
        notePromise()
        return unanswered
    }

    /// Whether what a call chose may be done, or may still be.
    func mayBeDone(for call: CallID) -> Bool {
        pending?.calls.contains(call) == true || storing.values.contains { $0.calls.contains(call) }
            || saved.contains(call)
    }
}
