/// The numbers of a public key, as a JSON Web Key states them (RFC 7517; RFC 7518, section 6; RFC 8037, section 2).
///
/// ``PublicKey`` checks whether they are a key. Other members, such as `kid`, `use`, `alg` and private numbers, are not read.
public struct JWK: Sendable, Equatable, Decodable {
    private enum Numbers: Equatable {
        case rsa(modulus: [UInt8], exponent: [UInt8])
        case curve(String, x: [UInt8], y: [UInt8])
        /// Edwards curves: one number.
        case pair(String, x: [UInt8])
    }

    private let numbers: Numbers

    private enum CodingKeys: String, CodingKey { case kty, n, e, crv, x, y }

    /// - Throws: `DecodingError` if a member is missing or no base64url, or the key is of another kind.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func number(_ key: CodingKeys) throws -> [UInt8] {
            guard let bytes = Base64URL.decode(Array(try members.decode(String.self, forKey: key).utf8)[...]) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: members, debugDescription: "no base64url")
            }
            return bytes
        }
        switch try members.decode(String.self, forKey: .kty) {
        case "RSA": numbers = .rsa(modulus: try number(.n), exponent: try number(.e))
        case "EC":
            numbers = .curve(try members.decode(String.self, forKey: .crv), x: try number(.x), y: try number(.y))
        case "OKP": numbers = .pair(try members.decode(String.self, forKey: .crv), x: try number(.x))
        default:
            throw DecodingError.dataCorruptedError(forKey: .kty, in: members, debugDescription: "another kind of key")
        }
    }

    /// The arguments of `csigning_key_of_numbers`; `nil` if the key is of another kind, or on another curve.
    func numbers(for algorithm: SignatureAlgorithm) -> (first: [UInt8], second: [UInt8])? {
        switch (algorithm, numbers) {
        case (.rs256, .rsa(let modulus, let exponent)), (.rs384, .rsa(let modulus, let exponent)),
            (.rs512, .rsa(let modulus, let exponent)), (.ps256, .rsa(let modulus, let exponent)):
            (modulus, exponent)
        case (.es256, .curve("P-256", let x, let y)), (.es384, .curve("P-384", let x, let y)): (x, y)
        case (.eddsa, .pair("Ed25519", let x)): (x, [])
        default: nil
        }
    }
}
