import Foundation
import PresenceProtocol

// The changes of the own profile that are kept, in memory and in the storage.
extension OwnUser {
    /// Profile changes that wait, and what was refused of them.
    var keptChanges: PendingProfileChanges {
        PendingProfileChanges(waiting: profile.waiting.map(ProfileChanges.init), refusal: profile.refusal)
    }

    /// Keeps a change for the next connection, or `until` then; `call` waits for its being stored. Whether there is
    /// anything to store.
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

    /// What an earlier process left. Nobody can say whose a change without an owner is, so nobody gets it.
    mutating func recall(_ parts: [ProfileQueue.Part]) {
        guard !parts.isEmpty else { return }
        profile.recall(parts.filter { $0.owner != nil })
        remove(parts.filter { $0.owner == nil }.flatMap(\.ids))
    }

    /// It is known who the user is.
    mutating func adoptKept(as user: UserID, at date: Date) {
        let id = newID()
        let (own, foreign) = profile.adopt(user, id: id)
        if let own { store(own, id, nil, at: date) }
        if !foreign.isEmpty { remove(foreign) }
    }

    // MARK: The storage

    /// What the storage has to do. What it could not take out before it tries again with the next operation.
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

    /// A write is in the storage: those whose place it takes can go.
    mutating func stored(_ write: String) {
        remove(profile.stored(write))
    }

    /// A change could not be stored; whether the server may be told of it all the same.
    mutating func withdraw(_ write: String) -> Bool {
        keptStamp += 1
        return profile.withdraw(write)
    }

    /// Writes are out of the storage.
    mutating func removed(_ writes: [String]) {
        profile.removed(writes)
        choice.removed(writes)
        keptStamp += 1
    }

    /// Writes could not be taken out of the storage: a later process would send them again, so what is done later goes
    /// behind them.
    mutating func keepRemoving(_ writes: [String], at uptime: Duration) {
        unremoved += writes
        removeAgainAt = uptime + Self.removalPause
    }

    private static let removalPause = Duration.seconds(5)

    // MARK: The server

    /// What is kept, if there is anything to send now and nothing is on its way.
    mutating func sendKept(at uptime: Duration) -> [Outgoing] {
        profile.take(at: uptime).map { [Outgoing(.updateProfile($0), .keptProfile)] } ?? []
    }

    /// What was kept and sent is stored by the server.
    mutating func acknowledgeKept() {
        remove(profile.acknowledge())
    }

    /// What was kept and sent is refused.
    mutating func refuseKept(_ error: PresenceError, at uptime: Duration) {
        if error.isPassing {
            keptStamp += 1
            profile.postpone(until: uptime + error.delay)
        } else {
            remove(profile.refuse(error))
        }
    }

    /// A later change of these members is stored by the server.
    mutating func supersede(_ changes: Wire.ProfileChanges, at date: Date) {
        let id = newID()
        guard let (unsent, replaced) = profile.supersede(changes, id: id) else { return }
        if let unsent { store(unsent, id, nil, at: date) }
        remove(replaced)
    }
}
