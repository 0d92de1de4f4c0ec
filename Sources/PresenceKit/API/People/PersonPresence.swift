import Foundation
import PresenceProtocol

/// The known presence of one user: whether they are online, and since when.
///
/// All dates are by the server's clock. Compare them with ``PresenceClient/serverNow``, not with the device's clock.
public struct PersonPresence: Codable, Hashable, Sendable {
    /// The id that the app requested.
    public let user: String
    /// The status that others see; `offline` also for an unknown or hidden user.
    public var status: PresenceStatus
    /// When `status` began; `nil` for an unknown user.
    public var since: Date?
    /// When the server last received anything from the user. Only for users who are offline and have been online
    /// before.
    public var lastSeen: Date?
    /// The status text, if the user set one; always `nil` while offline.
    public var text: String?
    /// The kinds of the user's connected devices, sorted and unique; empty while offline.
    public var devices: [Device.Kind]
    /// Increases with every change; 0 for an unknown or hidden user.
    public var version: Int64
    /// Whether the value is current.
    public var freshness: Freshness
    /// Why the value is not updated: the id is malformed, the server does not show the user, or the client is closed.
    public var problem: PresenceError?
    /// When the newest change was made and received; `nil` if the value came as a reply and not as a change.
    public var arrival: Arrival?

    /// Whether the user is online, away or busy.
    public var isOnline: Bool { status != .offline }

    /// Whether any presence is known.
    public var isKnown: Bool { version != 0 }

    /// How long the newest change took from the server to this device.
    public var changeLatency: Duration? { arrival?.latency }

    /// Creates a presence, for fakes and previews. The defaults are those of an unknown user.
    public init(
        user: String, status: PresenceStatus = .offline, since: Date? = nil, lastSeen: Date? = nil,
        text: String? = nil, devices: [Device.Kind] = [], version: Int64 = 0, freshness: Freshness,
        problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        (self.user, self.status, self.since, self.lastSeen) = (user, status, since, lastSeen)
        (self.text, self.devices, self.version, self.freshness) = (text, devices, version, freshness)
        (self.problem, self.arrival) = (problem, arrival)
    }

    init(
        user: String, _ presence: Presence, freshness: Freshness, problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        self.init(
            user: user, status: PresenceStatus(presence.status), since: presence.since.map(Date.init(timestamp:)),
            lastSeen: presence.lastSeen.map(Date.init(timestamp:)), text: presence.text,
            devices: presence.devices.map(Device.Kind.init),
            version: presence.version, freshness: freshness, problem: problem, arrival: arrival)
    }
}

extension Date {
    /// Converts a timestamp of the protocol: milliseconds since 1970.
    init(timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp) / 1_000)
    }
}
