import PresenceProtocol

extension PresenceClient {
    /// Whether a text is a valid id of a user, conversation or device: 1 to 128 bytes of printable ASCII without spaces.
    public static func isValidID(_ text: String) -> Bool { Identifier(text) != nil }

    /// Whether the server accepts a URL of a picture or file: https, or http on this machine.
    package static func isValidURL(_ text: String) -> Bool { PhotoURL.isValid(text) }
}
