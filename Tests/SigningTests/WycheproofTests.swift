import Expectations
import TestSupport
import Testing

@testable import Signing

/// Project Wycheproof's damaged, forged and odd signatures.
@Suite struct WycheproofTests {
    private struct Vector: Decodable {
        let tcId: Int
        let comment: String
        let msg: Wycheproof.Hexadecimal
        let sig: Wycheproof.Hexadecimal
        let result: Wycheproof.Verdict
    }

    private struct Group: Decodable {
        let publicKeyPem: String
        let publicKeyJwk: JWK?
        let keyJwk: JWK?
        let tests: [Vector]
    }

    @Test(arguments: [
        ("rsa_signature_2048_sha256", SignatureAlgorithm.rs256, 259),
        ("rsa_signature_3072_sha384", .rs384, 259),
        ("rsa_signature_4096_sha512", .rs512, 259),
        ("rsa_pss_2048_sha256_mgf1_32", .ps256, 108),
        ("ecdsa_secp256r1_sha256_p1363", .es256, 262),
        ("ecdsa_secp384r1_sha384_p1363", .es384, 280),
        ("ed25519", .eddsa, 151),
    ])
    func `a signature is verified if it is right, and never else`(
        file: String, algorithm: SignatureAlgorithm, count: Int
    ) throws {
        var seen = 0
        for group in try Wycheproof.groups(file, of: Group.self) {
            var keys = [try #require(PublicKey(algorithm, pem: group.publicKeyPem))]
            if let jwk = group.publicKeyJwk ?? group.keyJwk {
                keys.append(try #require(PublicKey(algorithm, jwk: jwk)))
            }
            for vector in group.tests {
                seen += 1
                for key in keys where vector.result != .acceptable {
                    expect(
                        key.verify(vector.sig.bytes, of: vector.msg.bytes[...]), equals: vector.result == .valid,
                        "\(file) \(vector.tcId) \(vector.comment)")
                }
            }
        }
        expect(seen, equals: count)
    }

    private struct CodeVector: Decodable {
        let tcId: Int
        let key: Wycheproof.Hexadecimal
        let msg: Wycheproof.Hexadecimal
        let tag: Wycheproof.Hexadecimal
        let result: Wycheproof.Verdict
    }

    private struct CodeGroup: Decodable {
        /// In bits.
        let tagSize: Int
        let tests: [CodeVector]
    }

    @Test(arguments: zip(["hmac_sha256", "hmac_sha384", "hmac_sha512"], HMACKey.Algorithm.allCases))
    func `an HMAC is verified if it is right and whole, by a secret that is long enough`(
        file: String, algorithm: HMACKey.Algorithm
    ) throws {
        var verified = 0
        for group in try Wycheproof.groups(file, of: CodeGroup.self) {
            for vector in group.tests {
                let key = HMACKey(algorithm, secret: vector.key.bytes)
                expect(key != nil, equals: vector.key.bytes.count >= algorithm.shortest)
                guard let key else { continue }
                let isWhole = group.tagSize == algorithm.shortest * 8
                expect(
                    key.verify(vector.tag.bytes, of: vector.msg.bytes[...]), equals: vector.result == .valid && isWhole,
                    "\(file) \(vector.tcId)")
                let code = key.sign(vector.msg.bytes)
                expect(code.starts(with: vector.tag.bytes), equals: vector.result == .valid, "\(file) \(vector.tcId)")
                verified += 1
            }
        }
        expect(verified > 100)
    }
}
