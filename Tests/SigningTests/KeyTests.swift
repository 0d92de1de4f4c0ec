import Expectations
import Foundation
import TestSupport
import Testing

@testable import Signing

/// Keys in PEM, and their signatures.
@Suite struct KeyTests {
    private static let privateKeys: [(SignatureAlgorithm, String)] = [
        (.rs256, TestKeys.rsa), (.rs384, TestKeys.rsa), (.rs512, TestKeys.rsa), (.ps256, TestKeys.rsa),
        (.es256, TestKeys.ecdsa), (.es384, TestKeys.ecdsa384), (.eddsa, TestKeys.eddsa),
    ]
    private static let publicKeys: [(SignatureAlgorithm, String)] = [
        (.rs256, TestKeys.rsaPublic), (.rs384, TestKeys.rsaPublic), (.rs512, TestKeys.rsaPublic),
        (.ps256, TestKeys.rsaPublic), (.es256, TestKeys.ecdsaPublic), (.es384, TestKeys.ecdsa384Public),
        (.eddsa, TestKeys.eddsaPublic),
    ]

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max) } }

    // MARK: Signing and verifying

    @Test(arguments: privateKeys)
    func `a public key verifies the signatures of its private half, and nothing else`(
        algorithm: SignatureAlgorithm, pem: String
    ) throws {
        let key = try #require(PrivateKey(algorithm, pem: pem))
        let other = try #require(
            Self.publicKeys.first { $0.0 == algorithm }.flatMap { PublicKey(algorithm, pem: $0.1) })
        for count in [0, 1, 31, 32, 33, 300, 20_000] {
            let message = bytes(count)
            let signature = try key.sign(message)
            expect(key.publicKey.verify(signature, of: message[...]))
            expect(other.verify(signature, of: message[...]))
            expect(!other.verify(signature, of: (message + [0])[...]))
            for _ in 0..<20 {
                var changed = signature
                changed[Int.random(in: changed.indices)] ^= UInt8.random(in: 1 ... .max)
                expect(!other.verify(changed, of: message[...]))
            }
            expect(!other.verify(Array(signature.dropLast(Int.random(in: 1...signature.count))), of: message[...]))
            expect(!other.verify(signature + bytes(Int.random(in: 1...300)), of: message[...]))
            expect(!other.verify(bytes(signature.count), of: message[...]))
        }
    }

    @Test func `a signature is good for its own algorithm only`() throws {
        let message = bytes(100)
        for (algorithm, pem) in Self.privateKeys {
            let signature = try #require(PrivateKey(algorithm, pem: pem)).sign(message)
            for (other, pem) in Self.publicKeys {
                let key = try #require(PublicKey(other, pem: pem))
                expect(key.verify(signature, of: message[...]), equals: other == algorithm, "\(algorithm) by \(other)")
            }
        }
    }

    @Test func `ECDSA in the form of ASN 1 is refused: a token has two numbers`() throws {
        let key = try #require(PrivateKey(.es256, pem: TestKeys.ecdsa))
        let message = bytes(50)
        let signature = try key.sign(message)
        func integer(_ number: ArraySlice<UInt8>) -> [UInt8] {
            let digits = Array(number.drop { $0 == 0 })
            let signed = digits[0] & 0x80 == 0 ? digits : [0] + digits
            return [2, UInt8(signed.count)] + signed
        }
        let pair = integer(signature.prefix(32)) + integer(signature.suffix(32))
        expect(!key.publicKey.verify([0x30, UInt8(pair.count)] + pair, of: message[...]))
        expect(key.publicKey.verify(signature, of: message[...]))
    }

    @Test func `any number of threads may use a key at once`() async throws {
        let keys = try Self.privateKeys.map { try #require(PrivateKey($0, pem: $1)) }
        let secret = try #require(HMACKey(.hs256, secret: bytes(32)))
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let message = Array("message \(number)".utf8)
                    let code = secret.sign(message)
                    return keys.allSatisfy {
                        guard let signature = try? $0.sign(message) else { return false }
                        return $0.publicKey.verify(signature, of: message[...]) && secret.verify(code, of: message[...])
                            && !$0.publicKey.verify(signature, of: message.dropLast())
                    }
                }
            }
            for await isRight in group { expect(isRight) }
        }
    }

    // MARK: PEM

    @Test(arguments: [
        (SignatureAlgorithm.rs256, OddKeys.rsaPKCS1), (.ps256, OddKeys.rsaPKCS1), (.es256, OddKeys.ecdsaSEC1),
        (.es256, OddKeys.ecdsaWithParameters), (.es256, "\n \n" + TestKeys.ecdsa + "\n\n"),
        (.es256, "a word before\n" + TestKeys.ecdsa), (.es256, TestKeys.ecdsa.replacing("\n", with: "\r\n")),
    ])
    func `private keys may have older forms`(algorithm: SignatureAlgorithm, pem: String) throws {
        let key = try #require(PrivateKey(algorithm, pem: pem))
        expect(key.publicKey.verify(try key.sign([1, 2, 3]), of: [1, 2, 3]))
        expect(PublicKey(algorithm, pem: pem) == nil, "a server that only verifies should have no private key")
    }

    @Test func `a public key may have the forms of PKCS 1 and of a certificate, whose dates do not count`() throws {
        let signature = try #require(PrivateKey(.rs256, pem: TestKeys.rsa)).sign([1, 2, 3])
        for pem in [TestKeys.rsaPublic, OddKeys.rsaPublicPKCS1, TestKeys.rsaCertificate] {
            try expect(#require(PublicKey(.rs256, pem: pem)).verify(signature, of: [1, 2, 3]))
            expect(PublicKey(.es256, pem: pem) == nil)
        }
    }

    @Test func `a key of another algorithm is rejected`() {
        for (algorithm, pem) in Self.publicKeys {
            for (other, _) in Self.publicKeys {
                let isSame = pem == Self.publicKeys.first { $0.0 == other }?.1
                expect(PublicKey(other, pem: pem) != nil, equals: isSame, "\(algorithm) for \(other)")
            }
        }
        for (algorithm, pem) in Self.privateKeys {
            for (other, _) in Self.privateKeys {
                let isSame = pem == Self.privateKeys.first { $0.0 == other }?.1
                expect(PrivateKey(other, pem: pem) != nil, equals: isSame, "\(algorithm) for \(other)")
            }
        }
    }

    @Test func `a text without exactly one good key is refused`() {
        let publicTexts =
            [
                "", "nonsense", TestKeys.weakPublicRSA, OddKeys.otherCurve,
                TestKeys.ecdsaPublic + "\n" + TestKeys.ecdsaPublic,
                TestKeys.rsaPublic + "\n" + TestKeys.ecdsaPublic,
                TestKeys.ecdsaPublic.replacing("PUBLIC", with: "PRIVATE"),
                TestKeys.ecdsaPublic + "\n-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----\n",
                String(TestKeys.ecdsaPublic.dropLast(10)), "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
            ] + Self.privateKeys.map(\.1)
        for algorithm in SignatureAlgorithm.allCases {
            for text in publicTexts { expect(PublicKey(algorithm, pem: text) == nil, "\(algorithm) \(text)") }
        }
        let privateTexts =
            [
                "", OddKeys.encrypted, OddKeys.encryptedSEC1, TestKeys.ecdsa + TestKeys.ecdsa,
                TestKeys.ecdsa + TestKeys.rsa, TestKeys.ecdsa.replacing("PRIVATE KEY", with: "KEY"),
            ] + Self.publicKeys.map(\.1)
        for algorithm in SignatureAlgorithm.allCases {
            for text in privateTexts { expect(PrivateKey(algorithm, pem: text) == nil, "\(algorithm) \(text)") }
        }
    }

    @Test func `a private key with mismatched halves is rejected`() throws {
        let lines = TestKeys.ecdsa.split(separator: "\n")
        var der = Array(try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined())))
        // The private half begins after 36 bytes of PKCS #8 and SEC 1, the public one is the last 65.
        der[36 + 31] ^= 1
        let pem = "-----BEGIN PRIVATE KEY-----\n\(Data(der).base64EncodedString())\n-----END PRIVATE KEY-----\n"
        expect(PrivateKey(.es256, pem: pem) == nil)
    }

    @Test func `a damaged key never crashes anything`() throws {
        for (algorithm, pem) in Self.publicKeys + Self.privateKeys + [(.rs256, TestKeys.rsaCertificate)] {
            let lines = pem.split(separator: "\n")
            let der = Array(try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined())))
            for _ in 0..<10 {
                var damaged = der
                damaged[Int.random(in: 0..<min(60, damaged.count))] ^= UInt8.random(in: 1 ... .max)
                if Bool.random() { damaged.removeLast(Int.random(in: 1..<damaged.count)) }
                _ = PublicKey(algorithm, pem: text(lines, damaged))?.verify([1], of: [2])
                _ = try? PrivateKey(algorithm, pem: text(lines, damaged))?.sign([1])
            }
            expect(PublicKey(algorithm, pem: text(lines, der + [0])) == nil, "bytes after the key")
            expect(PrivateKey(algorithm, pem: text(lines, der + [0])) == nil, "bytes after the key")
        }
    }

    private func text(_ lines: [Substring], _ der: [UInt8]) -> String {
        "\(lines[0])\n\(Data(der).base64EncodedString())\n\(lines[lines.count - 1])\n"
    }

    // MARK: Secrets

    @Test(arguments: HMACKey.Algorithm.allCases)
    func `a secret is at least as long as the hash`(algorithm: HMACKey.Algorithm) {
        expect(HMACKey(algorithm, secret: bytes(algorithm.shortest)) != nil)
        expect(HMACKey(algorithm, secret: bytes(algorithm.shortest - 1)) == nil)
        expect(HMACKey(algorithm, secret: []) == nil)
    }
}
