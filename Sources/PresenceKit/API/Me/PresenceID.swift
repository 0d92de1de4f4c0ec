import PresenceProtocol

/// The rule for ids of users, conversations and devices.
public enum PresenceID {
    /// Whether a text may be one: 1 to 128 bytes of printable ASCII without space.
    public static func isValid(_ text: String) -> Bool { Identifier(text) != nil }
}
