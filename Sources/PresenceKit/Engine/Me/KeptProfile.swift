import Foundation
import PresenceProtocol

/// Changes of the user's own profile: the newest value of each member.
struct KeptProfile: Sendable, Equatable {
    var changes: Wire.ProfileChanges
    /// Later changes have larger numbers, an earlier process's have 0.
    var number: UInt64 = 0
}

extension KeptProfile: LaneBody {
    static let kind = "profile"
    static let waitsForStorage = true
    static let queued = Reply.profile(.queued)

    fileprivate typealias Member = WritableKeyPath<Wire.ProfileChanges, Wire.Change<String>> & Sendable
    fileprivate static let members: [String: Member] = [
        "displayName": \.displayName, "photoURL": \.photoURL, "timezone": \.timezone, "locale": \.locale,
    ]

    init?(stored data: Data, at now: Moment) {
        guard let stored = try? JSONDecoder().decode(ProfileChanges.self, from: data) else { return nil }
        changes = stored.wire
    }

    func encoded(at now: Moment) -> Data {
        // Cannot fail: all members are texts.
        try! JSONEncoder().encode(ProfileChanges(changes))
    }

    mutating func merge(_ later: KeptProfile) {
        for member in Self.members.values where later.changes[keyPath: member] != .keep {
            changes[keyPath: member] = later.changes[keyPath: member]
        }
        number = max(number, later.number)
    }

    func left(after stored: KeptProfile) -> KeptProfile? {
        guard stored.number > number else { return self }
        var left = self
        left.changes.remove(membersOf: stored.changes)
        return left.changes.isEmpty ? nil : left
    }

    /// Without a name all members are dropped, because it is unknown which of them the server would accept.
    func left(without field: String?) -> KeptProfile? {
        guard let member = field.flatMap({ Self.members[$0] }), changes[keyPath: member] != .keep else { return nil }
        var left = self
        left.changes[keyPath: member] = .keep
        return left.changes.isEmpty ? nil : left
    }
}

extension Wire.ProfileChanges {
    var isEmpty: Bool { self == Wire.ProfileChanges() }

    mutating func remove(membersOf other: Wire.ProfileChanges) {
        for member in KeptProfile.members.values where other[keyPath: member] != .keep {
            self[keyPath: member] = .keep
        }
    }
}
