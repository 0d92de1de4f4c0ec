import Foundation
import PresenceProtocol

/// Changes of the user's own profile: the newest value of each member.
struct KeptProfile: Sendable, Equatable {
    private(set) var changes: Wire.ProfileChanges
    /// For each member the number of the call that set it. Those of an earlier process are missing, and count as 0.
    private var numbers: [Member: UInt64] = [:]

    init(changes: Wire.ProfileChanges, number: UInt64) {
        self.changes = changes
        for member in Self.members.values where changes[keyPath: member] != .keep { numbers[member] = number }
    }

    /// The number of the newest call.
    fileprivate var newest: UInt64 { numbers.values.max() ?? 0 }

    private func number(of member: Member) -> UInt64 { numbers[member] ?? 0 }
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

    mutating func merge(_ other: KeptProfile) {
        for member in Self.members.values where other.changes[keyPath: member] != .keep {
            guard changes[keyPath: member] == .keep || other.number(of: member) >= number(of: member) else { continue }
            changes[keyPath: member] = other.changes[keyPath: member]
            numbers[member] = other.numbers[member]
        }
    }

    func left(after stored: KeptProfile) -> KeptProfile? {
        var left = self
        for member in Self.members.values
        where stored.changes[keyPath: member] != .keep && stored.number(of: member) > number(of: member) {
            left.remove(member)
        }
        return left.changes.isEmpty ? nil : left
    }

    private mutating func remove(_ member: Member) { (changes[keyPath: member], numbers[member]) = (.keep, nil) }

    /// Without a name all members are dropped, because it is unknown which of them the server would accept.
    func left(without field: String?) -> KeptProfile? {
        guard let member = field.flatMap({ Self.members[$0] }), changes[keyPath: member] != .keep else { return nil }
        var left = self
        left.remove(member)
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

extension WriteLane<KeptProfile> {
    /// The number of the newest call whose change is not sent.
    var newest: UInt64 { next.map(\.body.newest).max() ?? 0 }
}
