import Foundation
public import Installation
public import PresenceProtocol
import Signing

/// Signs claims with a private key that another service knows, such as that of an account at a push service.
///
/// Descriptions do not show the key, so it cannot be printed by accident.
public struct ServiceSigner: Sendable, CustomStringConvertible, CustomReflectable {
    public enum Algorithm: String, Sendable {
        /// RSA of 2,048 bits or more, in PEM (PKCS #8, or PKCS #1).
        case rs256 = "RS256"
        /// P-256, in PEM (PKCS #8, or SEC 1).
        case es256 = "ES256"
    }

    private let key: PrivateKey
    public let algorithm: Algorithm

    /// - Throws: ``StartFailure`` if the text is not such a key; its sentence contains nothing of the text.
    public init(_ algorithm: Algorithm, pem: String) throws(StartFailure) {
        self.algorithm = algorithm
        guard let key = PrivateKey(algorithm == .rs256 ? .rs256 : .es256, pem: pem) else {
            throw StartFailure("is not a private key for \(algorithm.rawValue) in PEM (of 2048 bits or more, if RSA)")
        }
        self.key = key
    }

    /// A token (RFC 7519) with these claims.
    ///
    /// It takes up to 0.3 ms, so it is for a thread of a pool and not for a loop.
    ///
    /// - Parameter keyID: The header's `kid`; `nil` for none.
    /// - Throws: if OpenSSL cannot sign.
    public func token(_ claims: [String: Claim], keyID: String?) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var header = ["alg": algorithm.rawValue, "typ": "JWT"]
        header["kid"] = keyID
        let parts = [Array(try encoder.encode(header)), Array(try encoder.encode(claims))]
        let signed = parts.map(Base64URL.encode).joined(separator: ".")
        return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
    }

    public enum Claim: Sendable, Encodable {
        case text(String)
        /// In ms since 1970; in the token it is whole seconds.
        case time(Timestamp)

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .time(let time): try container.encode(time / 1_000)
            }
        }
    }

    public var description: String { "ServiceSigner(hidden)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
