import PresenceProtocol

/// One of the people of the demo: their devices, what they are doing, and when they do something else.
struct DemoPerson {
    let id: UserID
    let name: String
    /// Of up to two devices, by the place in `DemoPerson.kinds` that this person has for them.
    var devices: [DemoDevice]
    /// When they do the next thing.
    var next: Instant
    var isIdle = false
    /// While they type: until when, and where.
    var typing: (until: Instant, again: Instant, conversation: ConversationID)?
    /// Failures to connect in a row.
    var failures = 0

    init(index: Int, next: Instant, random: inout some RandomNumberGenerator) {
        name = Names.name(index)
        id = UserID(Names.id(of: name))!
        let kinds: [DeviceKind] = [.phone, .desktop, .web, .tablet].shuffled(using: &random)
        devices = kinds.prefix(2).map { DemoDevice(kind: $0) }
        self.next = next
    }

    /// A device whose requests can be sent, if the person is here.
    var connection: ConnectionID? { devices.lazy.compactMap(\.connection).first }

    var isHere: Bool { connection != nil }
}

/// A device of somebody and its connection, if it has one.
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
