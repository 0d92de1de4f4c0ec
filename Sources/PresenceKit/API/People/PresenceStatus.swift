/// What others see of a person.
public enum PresenceStatus: String, Codable, Sendable, CaseIterable {
    case online, away, busy, offline
}

/// What kind of device a person is here with.
public enum DeviceKind: String, Codable, Sendable, CaseIterable, Comparable {
    case phone, tablet, desktop, web, bot, other

    public static func < (a: DeviceKind, b: DeviceKind) -> Bool { a.rawValue < b.rawValue }
}
