/// The status of a user as others see it.
public enum PresenceStatus: String, Codable, Sendable, CaseIterable {
    /// Online; online with all devices idle; online and not to be disturbed; offline.
    case online, away, busy, offline
}

extension Device {
    /// The kind of a connected device.
    public enum Kind: String, Codable, Sendable, CaseIterable, Comparable {
        /// The kind that the device declared when it connected.
        case phone, tablet, desktop, web, bot, other

        public static func < (a: Device.Kind, b: Device.Kind) -> Bool { a.rawValue < b.rawValue }
    }
}
