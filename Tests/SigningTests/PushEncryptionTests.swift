import Expectations
import Foundation
import Testing

@testable import Signing

/// Encryption for subscribers of Web Push.
@Suite struct PushEncryptionTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(Array(text.utf8)[...])) }

    /// A private key on P-256 from its number and point (SEC 1, RFC 5915).
    private func key(_ number: [UInt8], _ point: [UInt8]) throws -> PrivateKey {
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let der = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20] + number + curve + [0xA1, 0x44, 0x03, 0x42, 0x00] + point
        let text = Data(der).base64EncodedString(options: .lineLength64Characters)
        return try #require(
            PrivateKey(.es256, pem: "-----BEGIN EC PRIVATE KEY-----\n\(text)\n-----END EC PRIVATE KEY-----\n"))
    }

    private static let subscriber =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

    @Test func `RFC 8291, section 5`() throws {
        let sender = try bytes(
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")
        let own = try key(try bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), sender)
        expect(own.publicKey.point, equals: sender)
        let encryption = try #require(
            PushEncryption(point: try bytes(Self.subscriber), secret: try bytes(Self.secret)))
        let encrypted = try encryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8), with: own,
            salt: try bytes("DGv6ra1nlYgDCS1FRnbzlw"))
        expect(
            Base64URL.encode(encrypted),
            equals: "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
                + "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
                + "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
    }

    @Test func `A message has a key and a salt of its own`() throws {
        let encryption = try #require(
            PushEncryption(point: try bytes(Self.subscriber), secret: try bytes(Self.secret)))
        let (one, other) = (try encryption.encrypt([1]), try encryption.encrypt([1]))
        expect(one[..<16] != other[..<16])
        expect(one[21..<86] != other[21..<86])
        expect(one.count, equals: 86 + 1 + 17)
        try expect(encryption.encrypt([UInt8](repeating: 7, count: PushEncryption.longest)).count, equals: 4_096)
        try expect(encryption.encrypt([]).count, equals: 86 + 17)
    }

    @Test func `Points beside the curve and wrong lengths are refused`() throws {
        let (point, secret) = (try bytes(Self.subscriber), try bytes(Self.secret))
        expect(PushEncryption(point: point, secret: secret) != nil)
        for length in [0, 15, 17, 32] {
            expect(PushEncryption(point: point, secret: [UInt8](repeating: 1, count: length)) == nil)
        }
        for place in [1, 32, 33, 64] {
            var other = point
            other[place] ^= 1
            expect(PushEncryption(point: other, secret: secret) == nil)
        }
        // Compressed, without its first byte, too long, the point at infinity, hybrid, and numbers beyond the field.
        let odd: [[UInt8]] = [
            [2 | point[64] & 1] + point[1..<33], Array(point[1...]), point + [0], [0], [],
            [6 | point[64] & 1] + point[1...], [4] + [UInt8](repeating: 0xFF, count: 64),
            [4] + [UInt8](repeating: 0, count: 64),
        ]
        for point in odd { expect(PushEncryption(point: point, secret: secret) == nil, "\(point)") }
    }

    @Test func `A new key is read from its PEM`() throws {
        let key = try PrivateKey()
        expect(key.algorithm, equals: .es256)
        let other = try #require(PrivateKey(.es256, pem: key.pem))
        expect(other.publicKey.point, equals: key.publicKey.point)
        expect(key.publicKey.verify(try other.sign([1, 2, 3]), of: [1, 2, 3]))
        try expect(PrivateKey().publicKey.point != key.publicKey.point)
        expect(PublicKey(point: key.publicKey.point)?.verify(try key.sign([4]), of: [4]), equals: true)
    }
}
