import Foundation
import PresenceProtocol

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

    /// Removes the change of a member, given by its protocol name; returns whether there was one.
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

// Profile changes in the storage.
extension QueuedWrite {
    init(_ changes: Wire.ProfileChanges, id: String, owner: UserID?, at date: Date) {
        // Cannot fail: all members are texts.
        let body = (try? JSONEncoder().encode(ProfileChanges(changes))) ?? Data()
        self.init(
            id: id, owner: owner?.string, lane: ProfileQueue.kind, kind: ProfileQueue.kind, body: body, queuedAt: date)
    }

    /// The change, if the write is one that this version can read.
    var profileChanges: ProfileQueue.Part? {
        guard kind == ProfileQueue.kind, let changes = try? JSONDecoder().decode(ProfileChanges.self, from: body)
        else { return nil }
        return ProfileQueue.Part(
            changes: changes.wire, ids: [id], owner: owner.flatMap(UserID.init), isRecalled: true)
    }
}
