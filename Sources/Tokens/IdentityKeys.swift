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
            guard entry.isForVerifying, !entry.isPrivate, let kid = entry.kid, !kid.isEmpty,
                let name = entry.algorithm, let algorithm = SignatureAlgorithm(rawValue: name),
                [.rs256, .es256].contains(algorithm),
                let key = entry.key.flatMap({ PublicKey(algorithm, jwk: $0) })
            else { continue }
            (keys[kid], issuers[kid]) = (key, entry.issuer)
        }
        guard !keys.isEmpty else { return nil }
        (self.keys, self.issuers) = (keys, issuers)
    }

    package subscript(kid: String) -> PublicKey? { keys[kid] }

    /// Perhaps with `{tenantid}`; `nil`: the key is not bound to an issuer.
    func issuer(of kid: String) -> String? { issuers[kid] }
}
