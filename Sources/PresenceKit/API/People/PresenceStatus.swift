/// What others see of a person.
public enum PresenceStatus: String, Codable, Sendable, CaseIterable {
    /// Here; here with all devices idle; here and not to be disturbed; not here.
    case online, away, busy, offline
}

/// What kind of device a person is here with.
public enum DeviceKind: String, Codable, Sendable, CaseIterable, Comparable {
    /// What the device said of itself when it connected.
    case phone, tablet, desktop, web, bot, other

    public static func < (a: DeviceKind, b: DeviceKind) -> Bool { a.rawValue < b.rawValue }
}
