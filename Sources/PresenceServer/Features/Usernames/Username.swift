import PresenceProtocol

/// A username: 3 to 30 of the letters `a` to `z` in either case, digits, dots and underscores, with no dot first, last
/// or doubled. It is displayed as typed, and compared without case.
struct Username {
    static let characters = 3...30

    /// As typed.
    let shown: String
    /// In lower case, as it is compared and claimed.
    let name: Identifier

    /// `nil` if it is not valid. Nothing is trimmed.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        let dot = UInt8(ascii: ".")
        guard Self.characters.contains(bytes.count), bytes.allSatisfy(Self.isAllowed), bytes.first != dot,
            bytes.last != dot, !zip(bytes, bytes.dropFirst()).contains(where: { $0 == dot && $1 == dot }),
            let name = Identifier(text.lowercased())
        else { return nil }
        shown = text
        self.name = name
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }
}
