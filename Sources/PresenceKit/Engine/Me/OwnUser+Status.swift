import Foundation
import PresenceProtocol

// The chosen status, in memory and in the storage.
extension OwnUser {
    /// Stores the pending choice, so that its calls can end as soon as it is stored.
    mutating func releaseChoice(at now: Moment) {
        let id = newID()
        guard let stored = choice.release(id, at: now) else { return }
        // Cannot fail: the members are texts and a number.
        let body = (try? JSONEncoder().encode(stored)) ?? Data()
        let write = QueuedWrite(
            id: id, owner: writer?.string, lane: StatusQueue.kind, kind: StatusQueue.kind, body: body,
            queuedAt: now.wall)
        storing.append(.store(write, nil))
    }

    /// A write was stored, or could not be stored. Returns the calls that waited for it, or `nil` if it is not a
    /// status.
    mutating func choiceStored(_ write: String, _ isStored: Bool) -> [CallID]? {
        guard let (calls, gone) = choice.stored(write, isStored) else { return nil }
        if !gone.isEmpty { storing.append(.removeWrites(gone)) }
        return calls
    }

    /// The server has stored a choice.
    mutating func acknowledge(_ held: PendingStatus) {
        let gone = choice.acknowledge(held)
        if !gone.isEmpty { storing.append(.removeWrites(gone)) }
    }

    /// The server rejected a choice for good.
    mutating func drop(_ refused: PendingStatus, because error: PresenceError) {
        choice.refuse(refused, error)
        if !refused.writes.isEmpty { storing.append(.removeWrites(refused.writes)) }
    }
}
