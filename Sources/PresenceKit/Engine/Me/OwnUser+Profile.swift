import Foundation
import PresenceProtocol

// The pending profile changes, in memory and in the storage.
extension OwnUser {
    /// Pending profile changes and the last rejection.
    var keptChanges: ProfileChanges.Pending {
        ProfileChanges.Pending(waiting: profile.waiting.map(ProfileChanges.init), refusal: profile.refusal)
    }

    /// Keeps a change for the next connection, or until `uptime`; `call` waits until it is stored. Returns whether
    /// there is anything to store.
    mutating func keep(
        _ changes: Wire.ProfileChanges, for call: CallID?, at date: Date, until uptime: Duration? = nil
    ) -> Bool {
        let id = newID()
        guard let unsent = profile.append(changes, id: id, owner: writer) else { return false }
        if let uptime { profile.postpone(until: uptime) }
        store(unsent, id, call, at: date)
        return true
    }

    private mutating func store(_ changes: Wire.ProfileChanges, _ id: String, _ call: CallID?, at date: Date) {
        storing.append(.store(QueuedWrite(changes, id: id, owner: writer, at: date), call))
        keptStamp += 1
    }

    private mutating func remove(_ writes: [String]) {
        if !writes.isEmpty { storing.append(.removeWrites(writes)) }
        keptStamp += 1
    }

    /// Takes over an earlier process's changes. Those without an owner are removed, because their user is unknown.
    mutating func recall(_ parts: [ProfileQueue.Part]) {
        guard !parts.isEmpty else { return }
        profile.recall(parts.filter { $0.owner != nil })
        remove(parts.filter { $0.owner == nil }.flatMap(\.ids))
    }

    /// The user is now known.
    mutating func adoptKept(as user: UserID, at date: Date) {
        let id = newID()
        let (own, foreign) = profile.adopt(user, id: id)
        if let own { store(own, id, nil, at: date) }
        if !foreign.isEmpty { remove(foreign) }
    }

    // MARK: The storage

    /// Returns the pending storage operations. Failed removals are retried together with the next operation.
    mutating func takeStoring() -> [Directive] {
        if !storing.isEmpty, !unremoved.isEmpty { removeAgain() }
        defer { storing = [] }
        return storing
    }

    mutating func removeAgain() {
        removeAgainAt = nil
        remove(unremoved)
        unremoved = []
    }

    /// A write is stored: the older writes that it replaces can be removed.
    mutating func stored(_ write: String) {
        remove(profile.stored(write))
    }

    /// A change could not be stored; returns whether the server may still receive it.
    mutating func withdraw(_ write: String) -> Bool {
        keptStamp += 1
        return profile.withdraw(write)
    }

    /// Writes were removed from the storage.
    mutating func removed(_ writes: [String]) {
        profile.removed(writes)
        choice.removed(writes)
        keptStamp += 1
    }

    /// Writes could not be removed from the storage. A later process would send them again, so later changes wait
    /// behind them.
    mutating func keepRemoving(_ writes: [String], at uptime: Duration) {
        unremoved += writes
        removeAgainAt = uptime + Self.removalPause
    }

    private static let removalPause = Duration.seconds(5)

    // MARK: The server

    /// The stored changes, if any can be sent now and none is in flight.
    mutating func sendKept(at uptime: Duration) -> [Outgoing] {
        profile.take(at: uptime).map { [Outgoing(.updateProfile($0), .keptProfile)] } ?? []
    }

    /// The server has stored the changes that were sent.
    mutating func acknowledgeKept() {
        remove(profile.acknowledge())
    }

    /// The server rejected the changes that were sent.
    mutating func refuseKept(_ error: PresenceError, at uptime: Duration) {
        if error.isPassing {
            keptStamp += 1
            profile.postpone(until: uptime + error.delay)
        } else {
            remove(profile.refuse(error))
        }
    }

    /// The server has stored a later change of these members.
    mutating func supersede(_ changes: Wire.ProfileChanges, at date: Date) {
        let id = newID()
        guard let (unsent, replaced) = profile.supersede(changes, id: id) else { return }
        if let unsent { store(unsent, id, nil, at: date) }
        remove(replaced)
    }
}
