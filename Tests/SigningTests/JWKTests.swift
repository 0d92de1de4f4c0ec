import Expectations
import Foundation
import TestSupport
import Testing

@testable import Signing

@Suite struct JWKTests {
    private func jwk(_ json: String) throws -> JWK { try JSONDecoder().decode(JWK.self, from: Data(json.utf8)) }

    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"

    @Test func `a key is for the algorithms of its kind and curve only`() throws {
        let curve = try jwk(#"{"kty":"EC","crv":"P-256","x":"\#(Self.x)","y":"\#(Self.y)","kid":"one","alg":"ES384"}"#)
        for algorithm in SignatureAlgorithm.allCases {
            expect(PublicKey(algorithm, jwk: curve) != nil, equals: algorithm == .es256)
        }
        let edwards = try jwk(#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#)
        for algorithm in SignatureAlgorithm.allCases {
            expect(PublicKey(algorithm, jwk: edwards) != nil, equals: algorithm == .eddsa)
        }
    }

    /// `y` with its last bit changed is beside the curve.
    @Test(arguments: [
        #"{"kty":"EC","crv":"P-256","x":"X","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5aw"}"#,
        #"{"kty":"EC","crv":"P-256","x":"X","y":""}"#, #"{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}"#,
        #"{"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
        #"{"kty":"EC","crv":"P-384","x":"X","y":"Y"}"#, #"{"kty":"EC","crv":"secp256k1","x":"X","y":"Y"}"#,
        #"{"kty":"OKP","crv":"X25519","x":"X"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AQ"}"#,
        #"{"kty":"OKP","crv":"Ed25519","x":""}"#, #"{"kty":"OKP","crv":"Ed448","x":"X"}"#,
        #"{"kty":"RSA","n":"AQ","e":"AQAB"}"#, #"{"kty":"RSA","n":"","e":""}"#,
    ])
    func `an invalid key is rejected`(json: String) throws {
        let key = try jwk(json.replacing(#""X""#, with: "\"\(Self.x)\"").replacing(#""Y""#, with: "\"\(Self.y)\""))
        for algorithm in SignatureAlgorithm.allCases { expect(PublicKey(algorithm, jwk: key) == nil) }
    }

    @Test(arguments: [
        "{}", #"{"kty":"oct","k":"c2VjcmV0"}"#, #"{"kty":"EC","crv":"P-256","x":"X"}"#, #"{"kty":"RSA","n":"AQ"}"#,
        #"{"kty":"EC","crv":"P-256","x":"X=","y":"Y"}"#, #"{"kty":"EC","crv":"P-256","x":"X+","y":"Y"}"#,
        #"{"kty":"RSA","n":"AR","e":"AQAB"}"#, #"{"kty":"RSA","n":"A Q","e":"AQAB"}"#,
        #"{"kty":"rsa","n":"AQ","e":"AQAB"}"#,
    ])
    func `an object without a number, or with another form of it, is not a JSON Web Key`(json: String) {
        #expect(throws: DecodingError.self) { try jwk(json) }
    }

    @Test func `a modulus has 2048 bits or more and an exponent more than 1`() throws {
        func number(_ bytes: [UInt8]) -> String { Base64URL.encode(bytes) }
        // The modulus of RFC 7515, A 2.
        let modulus = try #require(
            Base64URL.decode(
                Array(
                    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
                        .utf8)[...]))
        func isKey(_ modulus: [UInt8], _ exponent: [UInt8]) throws -> Bool {
            let key = try jwk(#"{"kty":"RSA","n":"\#(number(modulus))","e":"\#(number(exponent))"}"#)
            return PublicKey(.rs256, jwk: key) != nil
        }
        try expect(isKey(modulus, [1, 0, 1]))
        try expect(isKey(modulus, [3]))
        try expect(!isKey(modulus, [1]))
        try expect(!isKey(modulus, [2]))
        try expect(!isKey(modulus, []))
        try expect(!isKey(modulus, [1] + Array(repeating: 0, count: 7) + [1]), "an exponent of 65 bits")
        try expect(!isKey([0x7F] + modulus.dropFirst(), [1, 0, 1]), "2047 bits")
        try expect(!isKey(Array(modulus.dropLast()) + [modulus[255] ^ 1], [1, 0, 1]), "an even modulus")
        try expect(!isKey(Array(repeating: 0xFF, count: 1_025), [1, 0, 1]), "8200 bits")
    }
}
