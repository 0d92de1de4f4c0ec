import Signing

/// The secret with which an installation signs tokens of its own (HS256).
///
/// The HMAC key is the bytes of the text, so any tool that can read the file can make tokens. Descriptions do not show
/// it, so it cannot be printed by accident.
public struct TokenSecret: Sendable, CustomStringConvertible, CustomReflectable {
    /// The text, base64url.
    let text: String

    /// The minimum length of the text in bytes: HS256 requires a key as long as its hash (RFC 7518, section 3.2).
    static let shortest = 32

    /// Creates a secret of 32 random bytes.
    public init() {
        var generator = SystemRandomNumberGenerator()
        text = Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Uses an existing text. Returns `nil` if `text` (without the white space around it) is too short to be safe, or
    /// has control characters: a file that lost its content in a power cut is all NUL, and trailing zeros do not change
    /// an HMAC's key.
    public init?(_ text: some StringProtocol) {
        let trimmed = text.drop { $0.isWhitespace }
        guard let last = trimmed.lastIndex(where: { !$0.isWhitespace }), trimmed[...last].utf8.count >= Self.shortest,
            !trimmed[...last].utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { return nil }
        self.text = String(trimmed[...last])
    }

    /// A key that has hashed the secret already, so a token costs only its own bytes.
    func key() -> HMACKey {
        guard let key = HMACKey(.hs256, secret: Array(text.utf8)) else {
            preconditionFailure("a secret of \(text.utf8.count) bytes passed for one")
        }
        return key
    }

    public var description: String { "TokenSecret(hidden)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
