import Foundation
import Signing

/// The keys with which an identity provider signs, by their `kid`: for RS256 and ES256.
package struct IdentityKeys: Sendable {
    private let keys: [String: PublicKey]
    /// The issuers of keys that sign for one only, by `kid`: Microsoft publishes the keys of all tenants together.
    private let issuers: [String: String]

    /// More would be no key set of a provider. Reading one takes up to 0.5 ms.
    private static let most = 64

    /// Reads a JSON Web Key Set: for a thread of a pool. Keys of other kinds and for other purposes are skipped.
    ///
    /// - Returns: `nil` if the text is no key set, or has no key that can be used.
    package init?(json: [UInt8]) {
        guard let set = try? JSONDecoder().decode(KeySet.self, from: Data(json)) else { return nil }
        var keys: [String: PublicKey] = [:]
        var issuers: [String: String] = [:]
        for entry in set.keys.lazy.compactMap(\.value).prefix(Self.most) {
            guard entry.isForVerifying, !entry.isPrivate, let name = entry.algorithm,
                let algorithm = SignatureAlgorithm(rawValue: name),
                [.rs256, .es256].contains(algorithm),
                let key = entry.key.flatMap({ PublicKey(algorithm, jwk: $0) })
            else { continue }
            (keys[entry.kid ?? ""], issuers[entry.kid ?? ""]) = (key, entry.issuer)
        }
        guard !keys.isEmpty else { return nil }
        (self.keys, self.issuers) = (keys, issuers)
    }

    /// The only key if `kid` is `nil` (OpenID Connect Core 1.0, section 10.1).
    package subscript(kid: String?) -> PublicKey? {
        guard let kid else { return keys.count == 1 ? keys.first?.value : nil }
        return keys[kid]
    }

    /// The issuer of a token that the key with this `kid` has signed, perhaps with `{tenantid}`; `nil`: any.
    func issuer(of kid: String?) -> String? {
        guard let kid else { return issuers.count == 1 ? issuers.first?.value : nil }
        return issuers[kid]
    }
}
