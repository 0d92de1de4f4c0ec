import Foundation
import PresenceProtocol

// The chosen status that is kept, in memory and in the storage.
extension OwnUser {
    /// The calls that wait for a choice do not wait any longer: they are answered when it is in the storage.
    mutating func releaseChoice(at now: Moment) {
        let id = newID()
        guard let stored = choice.release(id, at: now) else { return }
        // It cannot fail: the members are texts and a number.
        let body = (try? JSONEncoder().encode(stored)) ?? Data()
        let write = QueuedWrite(
            id: id, owner: writer?.string, lane: StatusQueue.kind, kind: StatusQueue.kind, body: body,
            queuedAt: now.wall)
        storing.append(.store(write, nil))
    }

    /// A write is in the storage, or cannot be: the calls that waited for that; `nil` if it is not one of a status.
    mutating func choiceStored(_ write: String, _ isStored: Bool) -> [CallID]? {
        guard let (calls, gone) = choice.stored(write, isStored) else { return nil }
        if !gone.isEmpty { storing.append(.removeWrites(gone)) }
        return calls
    }

    /// The server holds a choice.
    mutating func acknowledge(_ held: PendingStatus) {
        let gone = choice.acknowledge(held)
        if !gone.isEmpty { storing.append(.removeWrites(gone)) }
    }

    /// The server will never take a choice.
    mutating func drop(_ refused: PendingStatus, because error: PresenceError) {
        choice.refuse(refused, error)
        if !refused.writes.isEmpty { storing.append(.removeWrites(refused.writes)) }
    }
}
