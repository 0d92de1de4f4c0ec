import PresenceProtocol

/// One person of the demo: their devices, their activity, and the time of their next action.
struct DemoPerson {
    let id: UserID
    let name: String
    /// Up to two devices, by the person's places for them in `DemoPerson.kinds`.
    var devices: [DemoDevice]
    /// The time of their next action.
    var next: Instant
    var isIdle = false
    /// While they type: until when, and where.
    var typing: (until: Instant, again: Instant, conversation: ConversationID)?
    /// Successive failures to connect.
    var failures = 0

    init(index: Int, next: Instant, random: inout some RandomNumberGenerator) {
        name = Names.name(index)
        id = UserID(Names.id(of: name))!
        let kinds: [DeviceKind] = [.phone, .desktop, .web, .tablet].shuffled(using: &random)
        devices = kinds.prefix(2).map { DemoDevice(kind: $0) }
        self.next = next
    }

    /// A device that can send requests, if the person is connected.
    var connection: ConnectionID? { devices.lazy.compactMap(\.connection).first }

    var isHere: Bool { connection != nil }
}

/// A person's device and its connection, if it has one.
struct DemoDevice {
    enum Line: Equatable {
        case none
        case opening
        case open(ConnectionID)
    }

    let kind: DeviceKind
    var line = Line.none

    var connection: ConnectionID? {
        if case .open(let connection) = line { return connection }
        return nil
    }
}
