import Foundation
import PresenceProtocol

/// The protocol's types for which the library has public types of its own. The engine sends and receives these.
enum Wire {
    typealias Activity = PresenceProtocol.Activity
    typealias Change = PresenceProtocol.Change
    typealias ChosenStatus = PresenceProtocol.ChosenStatus
    typealias Device = PresenceProtocol.Device
    typealias ProfileChanges = PresenceProtocol.ProfileChanges
}

/// A public enum with the names of the protocol's.
protocol WireNamed: RawRepresentable<String>, CaseIterable {
    associatedtype WireType: RawRepresentable<String>, CaseIterable
}

extension WireNamed {
    // A test compares the names.
    init(_ wire: WireType) { self.init(rawValue: wire.rawValue)! }
    var wire: WireType { WireType(rawValue: rawValue)! }
}

extension PresenceStatus: WireNamed { typealias WireType = PresenceProtocol.PresenceStatus }
extension Device.Kind: WireNamed { typealias WireType = PresenceProtocol.DeviceKind }
extension ChosenStatus: WireNamed { typealias WireType = Wire.ChosenStatus }
extension Activity: WireNamed { typealias WireType = Wire.Activity }
extension Audience: WireNamed { typealias WireType = PresenceProtocol.Audience }

extension Change {
    init(_ wire: Wire.Change<Value>) {
        switch wire {
        case .keep: self = .keep
        case .remove: self = .remove
        case .set(let value): self = .set(value)
        }
    }

    var wire: Wire.Change<Value> {
        switch self {
        case .keep: .keep
        case .remove: .remove
        case .set(let value): .set(value)
        }
    }
}

extension ProfileChanges {
    init(_ wire: Wire.ProfileChanges) {
        let photo = Change<String>(wire.photoURL)
        self.init(
            displayName: Change(wire.displayName),
            photoURL: photo.value.map { URL(string: $0).map { .set($0) } ?? .keep }
                ?? (photo == .remove ? .remove : .keep),
            timezone: Change(wire.timezone), locale: Change(wire.locale))
    }

    var wire: Wire.ProfileChanges {
        Wire.ProfileChanges(
            displayName: displayName.map(FreeText.trimmed).wire, photoURL: photoURL.map(\.absoluteString).wire,
            timezone: timezone.wire,
            locale: locale.wire)
    }
}
