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

extension PresenceStatus {
    init(_ wire: PresenceProtocol.PresenceStatus) {
        switch wire {
        case .online: self = .online
        case .away: self = .away
        case .busy: self = .busy
        case .offline: self = .offline
        }
    }
}

extension Device.Kind {
    init(_ wire: PresenceProtocol.DeviceKind) {
        switch wire {
        case .phone: self = .phone
        case .tablet: self = .tablet
        case .desktop: self = .desktop
        case .web: self = .web
        case .bot: self = .bot
        case .other: self = .other
        }
    }

    var wire: PresenceProtocol.DeviceKind { PresenceProtocol.DeviceKind(rawValue: rawValue) ?? .other }
}

extension ChosenStatus {
    init(_ wire: Wire.ChosenStatus) {
        switch wire {
        case .auto: self = .auto
        case .busy: self = .busy
        case .invisible: self = .invisible
        }
    }

    var wire: Wire.ChosenStatus {
        switch self {
        case .auto: .auto
        case .busy: .busy
        case .invisible: .invisible
        }
    }
}

extension Activity {
    var wire: Wire.Activity {
        switch self {
        case .active: .active
        case .idle: .idle
        case .background: .background
        }
    }
}

extension Audience {
    init(_ wire: PresenceProtocol.Audience) {
        switch wire {
        case .everyone: self = .everyone
        case .contacts: self = .contacts
        case .nobody: self = .nobody
        }
    }

    var wire: PresenceProtocol.Audience {
        switch self {
        case .everyone: .everyone
        case .contacts: .contacts
        case .nobody: .nobody
        }
    }
}

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
