import Foundation
import Installation
import JWTKit
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
    func `others verify a token with the public key`(algorithm: ServiceSigner.Algorithm) async throws {
        let ecdsa = ES256PrivateKey()
        let rsa = try Insecure.RSA.PrivateKey(pem: TestKeys.rsa)
        let signer = try ServiceSigner(
            algorithm, pem: algorithm == .rs256 ? TestKeys.rsa : ecdsa.pemRepresentation)
        let token = try await signer.token(["iss": .text("me"), "iat": .time(1_763_712_000_999)], keyID: "k1")
        let parts = parts(of: token)
        #expect(parts.count == 3)
        let header = try JSONDecoder().decode([String: String].self, from: Data(parts[0]))
        #expect(header == ["alg": algorithm.rawValue, "typ": "JWT", "kid": "k1"])
        let claims = try JSONDecoder().decode(Claims.self, from: Data(parts[1]))
        #expect(claims == Claims(iss: "me", iat: 1_763_712_000))
        let keys = JWTKeyCollection()
        switch algorithm {
        case .rs256: await keys.add(rsa: rsa.publicKey, digestAlgorithm: .sha256)
        case .es256: await keys.add(ecdsa: ecdsa.publicKey)
        }
        let signed = Array(token.utf8.dropLast(Base64URL.encode(parts[2]).utf8.count + 1))
        #expect(try await keys.getKey().verify(parts[2], signs: signed))
    }

    @Test func `a key of another kind is refused, and nothing shows a key`() throws {
        #expect(throws: StartFailure.self) { try ServiceSigner(.es256, pem: TestKeys.rsa) }
        #expect(throws: StartFailure.self) { try ServiceSigner(.rs256, pem: ES256PrivateKey().pemRepresentation) }
        #expect(throws: StartFailure.self) { try ServiceSigner(.es256, pem: "") }
        let signer = try ServiceSigner(.es256, pem: ES256PrivateKey().pemRepresentation)
        #expect("\(signer)" == "ServiceSigner(hidden)")
        var dumped = ""
        dump(signer, to: &dumped)
        #expect(!dumped.contains("PRIVATE") && !dumped.contains("ecdsa"))
    }
}
