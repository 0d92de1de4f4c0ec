import PresenceProtocol

/// The rule for the ids of users, conversations and devices.
public enum PresenceID {
    /// Whether the text is a valid id: 1 to 128 bytes of printable ASCII without spaces.
    public static func isValid(_ text: String) -> Bool { Identifier(text) != nil }
}
