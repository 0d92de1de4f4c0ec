import CSigning

/// A signature algorithm with private and public keys, by its name in JSON Web Signatures (RFC 7518, section 3.1; RFC 8037).
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSA by PKCS #1 (RSASSA-PKCS1-v1_5).
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    /// RSA by PSS, with a salt as long as the hash.
    case ps256 = "PS256"
    /// ECDSA on P-256.
    case es256 = "ES256"
    /// ECDSA on P-384.
    case es384 = "ES384"
    /// Ed25519.
    case eddsa = "EdDSA"

    var scheme: csigning_scheme {
        switch self {
        case .rs256: csigning_rs256
        case .rs384: csigning_rs384
        case .rs512: csigning_rs512
        case .ps256: csigning_ps256
        case .es256: csigning_es256
        case .es384: csigning_es384
        case .eddsa: csigning_eddsa
        }
    }
}
