import Foundation
import Signing

/// A JSON Web Key Set. Its keys may be of unsupported kinds.
struct KeySet: Decodable {
    let keys: [Readable]

    /// One invalid key does not affect the others.
    struct Readable: Decodable {
        let value: Entry?
        init(from decoder: any Decoder) throws { value = try? Entry(from: decoder) }
    }

    struct Entry: Decodable {
        let kid: String?
        let alg: String?
        let type: String?
        let curve: String?
        let use: String?
        let operations: [String]?
        /// The only issuer whose tokens it signs, at Microsoft.
        let issuer: String?
        let isPrivate: Bool
        /// `nil` if the key is of an unsupported kind.
        let key: JWK?

        /// Whether the key's issuer meant it for verifying (RFC 7517, 4.2 and 4.3): a key without `use` and `key_ops`
        /// is for any use.
        var isForVerifying: Bool { use ?? "sig" == "sig" && operations?.contains("verify") ?? true }

        /// Its `alg`, or the algorithm of its kind.
        var algorithm: String? {
            switch (alg, type, curve) {
            case (let alg?, _, _): alg
            case (nil, "RSA", _): "RS256"
            case (nil, "EC", "P-256"): "ES256"
            case (nil, "OKP", "Ed25519"): "EdDSA"
            default: nil
            }
        }

        private enum CodingKeys: String, CodingKey {
            case kid, alg, use, d, k, issuer
            case type = "kty"
            case curve = "crv"
            case operations = "key_ops"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            kid = try members.decodeIfPresent(String.self, forKey: .kid)
            alg = try members.decodeIfPresent(String.self, forKey: .alg)
            type = try members.decodeIfPresent(String.self, forKey: .type)
            curve = try members.decodeIfPresent(String.self, forKey: .curve)
            use = try members.decodeIfPresent(String.self, forKey: .use)
            operations = try members.decodeIfPresent([String].self, forKey: .operations)
            issuer = try members.decodeIfPresent(String.self, forKey: .issuer)
            isPrivate = members.contains(.d) || members.contains(.k)
            key = try? JWK(from: decoder)
        }
    }
}
