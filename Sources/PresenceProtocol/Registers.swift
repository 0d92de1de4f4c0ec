/// A user's presence as others see it: one of the two registers, replaced whole.
public struct Presence: Codable, Hashable, Sendable {
    /// Grows with every change; 0 for an unknown or hidden user.
    public var version: Int64
    public var status: PresenceStatus
    /// When `status` began; `nil` with version 0.
    public var since: Timestamp?
    /// Only with `offline`, and only for a user who was online before: when the server last received anything from the
    /// user.
    public var lastSeen: Timestamp?
    /// The status text, if set; never with `offline`.
    public var text: String?
    /// The kinds of the connected devices, sorted, without repetition; empty when offline.
    public var devices: [DeviceKind]

    public init(
        version: Int64, status: PresenceStatus, since: Timestamp? = nil, lastSeen: Timestamp? = nil,
        text: String? = nil, devices: [DeviceKind] = []
    ) {
        self.version = version
        self.status = status
        self.since = since
        self.lastSeen = lastSeen
        self.text = text
        self.devices = devices
    }

    /// A user who is unknown, does not exist, or is hidden from this client.
    public static let unknown = Presence(version: 0, status: .offline)
}

public enum PresenceStatus: String, Codable, Sendable, CaseIterable {
    case online, away, busy, offline
}

public enum DeviceKind: String, Codable, Sendable, CaseIterable, Comparable {
    case phone, tablet, desktop, web, bot, other

    public static func < (a: DeviceKind, b: DeviceKind) -> Bool { a.rawValue < b.rawValue }
}

/// A user's profile as others see it: the other register, replaced whole.
public struct Profile: Codable, Hashable, Sendable {
    public var version: Int64
    public var displayName: String?
    /// The unique username in its owner's spelling. Only users with an account have one.
    public var username: String?
    public var photoURL: String?
    /// A small version of the photo. Only photos that were uploaded to the server have one.
    public var thumbnailURL: String?
    /// IANA name, such as `Europe/Paris`.
    public var timezone: String?
    /// BCP 47, such as `pt-BR`.
    public var locale: String?
    public var createdAt: Timestamp?
    public var updatedAt: Timestamp?

    public init(
        version: Int64, displayName: String? = nil, username: String? = nil, photoURL: String? = nil,
        thumbnailURL: String? = nil, timezone: String? = nil, locale: String? = nil, createdAt: Timestamp? = nil,
        updatedAt: Timestamp? = nil
    ) {
        self.version = version
        self.displayName = displayName
        self.username = username
        self.photoURL = photoURL
        self.thumbnailURL = thumbnailURL
        self.timezone = timezone
        self.locale = locale
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// Both registers of one user, as in `subscribed` and `users`. A register is `nil` if it was left out because the
/// client has that version (`known`).
public struct UserSnapshot: Hashable, Sendable {
    public var user: UserID
    public var presence: Presence?
    public var profile: ProfileRegister?

    public init(user: UserID, presence: Presence?, profile: ProfileRegister?) {
        self.user = user
        self.presence = presence
        self.profile = profile
    }
}

/// A profile register in a snapshot or an event. A missing profile is `null` on the wire.
public enum ProfileRegister: Hashable, Sendable {
    case none
    case profile(Profile)
}

/// The status that a user chose for all their devices, as they themselves see it.
public struct OwnStatus: Hashable, Sendable {
    public var status: ChosenStatus
    public var text: String?
    /// When status and text return to `auto` and none.
    public var clearAt: Timestamp?

    public init(status: ChosenStatus = .auto, text: String? = nil, clearAt: Timestamp? = nil) {
        self.status = status
        self.text = text
        self.clearAt = clearAt
    }
}

public enum ChosenStatus: String, Sendable, CaseIterable {
    case auto, busy, invisible
}

/// The activity of the user on one device; `background` counts as idle to others.
public enum Activity: String, Sendable, CaseIterable {
    case active, idle, background
}
