import Foundation
import JWTKit
import PresenceProtocol

@testable import Tokens

/// Tokens put together from parts, so that each can be wrong.
enum Forge {
    static let secret = TokenSecret("correct-horse-battery-staple-correct-horse")!
    /// The time of all tests: 2025-11-21 08:00 UTC.
    static let now: Timestamp = 1_763_712_000_000
    /// An hour after `now`, as a NumericDate.
    static let inAnHour = 1_763_715_600

    /// A token of these parts, signed over exactly these bytes.
    static func token(
        header: String = #"{"alg":"HS256","typ":"JWT"}"#, payload: String,
        signedBy algorithm: (any JWTAlgorithm)? = nil
    ) async throws -> String {
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        let key: any JWTAlgorithm
        if let algorithm { key = algorithm } else { key = try await secret.algorithm() }
        return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
    }

    /// An otherwise good payload with some members of JSON replaced or added.
    static func payload(_ members: [String: String] = [:]) -> String {
        let all = ["sub": #""ana""#, "exp": "\(inAnHour)"].merging(members) { $1 }
        return "{" + all.filter { $0.value != "" }.map { #""\#($0)":\#($1)"# }.joined(separator: ",") + "}"
    }

    static func hmac(_ key: String) async throws -> any JWTAlgorithm {
        try await JWTKeyCollection().add(hmac: HMACKey(from: key), digestAlgorithm: .sha256).getKey()
    }
}
