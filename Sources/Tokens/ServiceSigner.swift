import Foundation
public import Installation
import JWTKit
public import PresenceProtocol

/// Signs claims with a private key that another service knows us by, such as that of an account at a push service.
///
/// It is not printable by accident: a description does not show the key.
public struct ServiceSigner: Sendable, CustomStringConvertible, CustomReflectable {
    public enum Algorithm: String, Sendable {
        /// RSA of 2,048 bits or more, in PEM (PKCS #8, or PKCS #1).
        case rs256 = "RS256"
        /// P-256, in PEM (PKCS #8, or SEC 1).
        case es256 = "ES256"
    }

    private enum Key: Sendable {
        case rsa(Insecure.RSA.PrivateKey)
        case ecdsa(ES256PrivateKey)
    }

    private let key: Key
    public let algorithm: Algorithm

    /// - Throws: that it is no such key, in words without anything of it.
    public init(_ algorithm: Algorithm, pem: String) throws(StartFailure) {
        self.algorithm = algorithm
        do {
            switch algorithm {
            case .rs256: key = .rsa(try Insecure.RSA.PrivateKey(pem: pem))
            case .es256: key = .ecdsa(try ES256PrivateKey(pem: pem))
            }
        } catch {
            throw StartFailure("is not a private key for \(algorithm.rawValue) in PEM (of 2048 bits or more, if RSA)")
        }
    }

    /// A token (RFC 7519) with these claims.
    ///
    /// - Parameter keyID: The header's `kid`; `nil` for none.
    /// - Throws: what the library says if it cannot sign.
    public func token(_ claims: [String: Claim], keyID: String?) async throws -> String {
        let keys = JWTKeyCollection()
        switch key {
        case .rsa(let key): await keys.add(rsa: key, digestAlgorithm: .sha256)
        case .ecdsa(let key): await keys.add(ecdsa: key)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var header = ["alg": algorithm.rawValue, "typ": "JWT"]
        header["kid"] = keyID
        let signed = Base64URL.encode(try encoder.encode(header)) + "." + Base64URL.encode(try encoder.encode(claims))
        return signed + "." + Base64URL.encode(try await keys.getKey().sign(Array(signed.utf8)))
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
