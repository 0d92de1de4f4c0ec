import Foundation
import PresenceProtocol
import Signing
import Testing

@testable import Tokens

/// Tokens put together from parts, so that each can be wrong.
enum Forge {
    static let secret = TokenSecret("correct-horse-battery-staple-correct-horse")!
    /// The time of all tests: 2025-11-21 08:00 UTC.
    static let now: Timestamp = 1_763_712_000_000
    /// An hour after `now`, as a NumericDate.
    static let inAnHour = 1_763_715_600

    /// Makes a signature.
    typealias Signer = ([UInt8]) throws -> [UInt8]

    /// A token of these parts, signed over exactly these bytes.
    static func token(
        header: String = #"{"alg":"HS256","typ":"JWT"}"#, payload: String, signedBy sign: Signer? = nil
    ) throws -> String {
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8))
        return signed + "." + Base64URL.encode(try (sign ?? secret.key().sign)(Array(signed.utf8)))
    }

    /// An otherwise good payload with some members of JSON replaced or added.
    static func payload(_ members: [String: String] = [:]) -> String {
        let all = ["sub": #""ana""#, "exp": "\(inAnHour)"].merging(members) { $1 }
        return "{" + all.filter { $0.value != "" }.map { #""\#($0)":\#($1)"# }.joined(separator: ",") + "}"
    }

    static func hmac(_ secret: String) throws -> Signer {
        try #require(HMACKey(.hs256, secret: Array(secret.utf8))).sign
    }

    static func signer(_ algorithm: SignatureAlgorithm, _ pem: String) throws -> Signer {
        let key = try #require(PrivateKey(algorithm, pem: pem))
        return { try key.sign($0) }
    }
}
