import Passwords
import PresenceProtocol
import Signing

/// The token of a link in a mail, which permits one action, once. The store has only its digest.
///
///     base64url of:  version 1 │ purpose │ length, user │ 32 random bytes
struct MailToken: Equatable {
    enum Purpose: UInt8 {
        /// Confirms the address of a sign-up.
        case verify = 1
        /// Permits a new password.
        case reset = 2
        /// Confirms a new address.
        case change = 3
    }

    let user: UserID
    let purpose: Purpose
    private let secret: [UInt8]

    private static let version: UInt8 = 1
    private static let secretBytes = 32

    /// How long a token of any purpose is valid, in ms. If the link of a sign-up has expired, a reset verifies the address.
    static let lifetime: Milliseconds = 1_800_000

    init(user: UserID, purpose: Purpose) {
        self.user = user
        self.purpose = purpose
        secret = Sodium.random(Self.secretBytes)
    }

    /// `nil` if the text is not a token.
    init?(_ text: String) {
        guard text.utf8.count <= 512, let bytes = Base64URL.decode(Array(text.utf8)[...]), bytes.count > 3,
            bytes[0] == Self.version, let purpose = Purpose(rawValue: bytes[1]),
            bytes.count == 3 + Int(bytes[2]) + Self.secretBytes,
            let user = UserID(String(decoding: bytes[3..<(3 + Int(bytes[2]))], as: UTF8.self))
        else { return nil }
        self.user = user
        self.purpose = purpose
        secret = Array(bytes.suffix(Self.secretBytes))
    }

    var text: String {
        let id = Array(user.string.utf8)
        return Base64URL.encode([Self.version, purpose.rawValue, UInt8(id.count)] + id + secret)
    }

    /// In hexadecimal.
    var digest: String { Sodium.sha256(secret).hexadecimal }
}
