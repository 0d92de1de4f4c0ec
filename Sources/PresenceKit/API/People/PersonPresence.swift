import Foundation
import PresenceProtocol

/// What is known of one person's presence: whether they are here, and since when.
///
/// Dates are by the server's clock; compare them with ``PresenceClient/serverNow`` rather than with the device's.
public struct PersonPresence: Codable, Hashable, Sendable {
    /// The id that the app asked for.
    public let user: String
    /// What others see of them; `offline` also for a user who is unknown or hidden.
    public var status: PresenceStatus
    /// When `status` began; `nil` for an unknown user.
    public var since: Date?
    /// When the server last received anything from them; only for someone offline who has been here.
    public var lastSeen: Date?
    /// The status text, where they set one; never while offline.
    public var text: String?
    /// The kinds of their devices that are here, sorted, without repetition; empty while offline.
    public var devices: [DeviceKind]
    /// Grows with every change; 0 for an unknown or hidden user.
    public var version: Int64
    /// Whether this is the truth of this moment.
    public var freshness: Freshness
    /// Why nothing newer comes: the id is malformed, the server will not show the user, or the client is closed.
    public var problem: PresenceError?
    /// When the newest change was made and received; `nil` while what is shown came as an answer, not as a change.
    public var arrival: Arrival?

    /// Whether they are here: online, away or busy.
    public var isOnline: Bool { status != .offline }

    /// Whether anything is known of them at all.
    public var isKnown: Bool { version != 0 }

    /// How long the newest change took from the server to here.
    public var changeLatency: Duration? { arrival?.latency }

    /// Makes a presence, as a fake or a preview needs it; by default of a user who is unknown.
    public init(
        user: String, status: PresenceStatus = .offline, since: Date? = nil, lastSeen: Date? = nil,
        text: String? = nil, devices: [DeviceKind] = [], version: Int64 = 0, freshness: Freshness,
        problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        self.user = user
        self.status = status
        self.since = since
        self.lastSeen = lastSeen
        self.text = text
        self.devices = devices
        self.version = version
        self.freshness = freshness
        self.problem = problem
        self.arrival = arrival
    }

    init(
        user: String, _ presence: Presence, freshness: Freshness, problem: PresenceError? = nil, arrival: Arrival? = nil
    ) {
        self.init(
            user: user, status: PresenceStatus(presence.status), since: presence.since.map(Date.init(timestamp:)),
            lastSeen: presence.lastSeen.map(Date.init(timestamp:)), text: presence.text,
            devices: presence.devices.map(DeviceKind.init),
            version: presence.version, freshness: freshness, problem: problem, arrival: arrival)
    }
}

extension Date {
    /// A point in time of the protocol: milliseconds since 1970.
    init(timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp) / 1_000)
    }
}
