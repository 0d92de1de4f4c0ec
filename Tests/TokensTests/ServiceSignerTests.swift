import Expectations
import Foundation
import Installation
import Signing
import TestSupport
import Testing

@testable import Tokens

@Suite struct ServiceSignerTests {
    private func parts(of token: String) -> [[UInt8]] {
        token.split(separator: ".").map { Base64URL.decode(Array($0.utf8)[...]) ?? [] }
    }

    private struct Claims: Decodable, Equatable {
        let iss: String
        let iat: Int
    }

    @Test(arguments: [ServiceSigner.Algorithm.rs256, .es256])
    func `others verify a token with the public key`(algorithm: ServiceSigner.Algorithm) throws {
        let signer = try ServiceSigner(algorithm, pem: algorithm == .rs256 ? TestKeys.rsa : TestKeys.ecdsa)
        let token = try signer.token(["iss": .text("me"), "iat": .time(1_763_712_000_999)], keyID: "k1")
        let parts = parts(of: token)
        expect(parts.count, equals: 3)
        let header = try JSONDecoder().decode([String: String].self, from: Data(parts[0]))
        expect(header, equals: ["alg": algorithm.rawValue, "typ": "JWT", "kid": "k1"])
        let claims = try JSONDecoder().decode(Claims.self, from: Data(parts[1]))
        expect(claims, equals: Claims(iss: "me", iat: 1_763_712_000))
        let key =
            algorithm == .rs256
            ? PublicKey(.rs256, pem: TestKeys.rsaPublic) : PublicKey(.es256, pem: TestKeys.ecdsaPublic)
        let signed = Array(token.utf8.dropLast(Base64URL.encode(parts[2]).utf8.count + 1))
        try expect(#require(key).verify(parts[2], of: signed[...]))
    }

    @Test func `a key of another kind is refused, and no description shows the key`() throws {
        #expect(throws: StartFailure.self) { try ServiceSigner(.es256, pem: TestKeys.rsa) }
        #expect(throws: StartFailure.self) { try ServiceSigner(.rs256, pem: TestKeys.ecdsa) }
        #expect(throws: StartFailure.self) { try ServiceSigner(.es256, pem: "") }
        let signer = try ServiceSigner(.es256, pem: TestKeys.ecdsa)
        expect("\(signer)", equals: "ServiceSigner(hidden)")
        var dumped = ""
        dump(signer, to: &dumped)
        expect(!dumped.contains("PRIVATE") && !dumped.contains("ecdsa"))
    }
}
