import PresenceProtocol
import Signing
import Tokens

/// The key pair by which push services recognise an installation (RFC 8292). Browsers subscribe with its public half.
///
/// Descriptions do not show it.
struct VAPIDKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Both halves: PKCS #8.
    let pem: String
    /// The public half: its point in base64url, as `applicationServerKey` of browsers takes it.
    let publicText: String
    private let signer: ServiceSigner

    /// ms for which a signature is valid. Services accept a day at most.
    private static let life: Milliseconds = 12 * 3_600_000

    /// `nil` unless the text is a private key on P-256.
    init?(pem: String) {
        guard let key = PrivateKey(.es256, pem: pem), let signer = try? ServiceSigner(.es256, pem: pem) else {
            return nil
        }
        (self.pem, self.signer, publicText) = (pem, signer, Base64URL.encode(key.publicKey.point))
    }

    /// A new one; `nil` without random numbers.
    init?() {
        guard let key = try? PrivateKey() else { return nil }
        self.init(pem: key.pem)
    }

    /// The header `Authorization` of pushes to one service.
    ///
    /// - Parameter time: Now, in ms since 1970.
    /// - Throws: if OpenSSL cannot sign.
    func authorization(for origin: String, subject: String, at time: Timestamp) throws -> String {
        let claims: [String: ServiceSigner.Claim] = [
            "aud": .text(origin), "exp": .time(time + Self.life), "sub": .text(subject),
        ]
        return "vapid t=\(try signer.token(claims, keyID: nil)), k=\(publicText)"
    }

    var description: String { "VAPIDKey(hidden)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
