import Expectations
import Foundation
import Testing

@testable import Signing

/// The examples of the standards.
@Suite struct StandardTests {
    /// A token's bytes that are signed, and their signature.
    private func parts(_ token: String) throws -> (signed: [UInt8], signature: [UInt8]) {
        let dot = try #require(token.lastIndex(of: "."))
        return (Array(token[..<dot].utf8), try bytes(String(token[token.index(after: dot)...])))
    }

    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(Array(text.utf8)[...])) }

    private func jwk(_ json: String) throws -> JWK { try JSONDecoder().decode(JWK.self, from: Data(json.utf8)) }

    private func expectVerified(_ token: String, by key: PublicKey?) throws {
        let (signed, signature) = try parts(token)
        let key = try #require(key)
        expect(key.verify(signature, of: signed[...]))
        for place in [0, signed.count - 1] {
            var other = signed
            other[place] ^= 1
            expect(!key.verify(signature, of: other[...]))
        }
        for place in [0, signature.count / 2, signature.count - 1] {
            var other = signature
            other[place] ^= 1
            expect(!key.verify(other, of: signed[...]))
        }
        expect(!key.verify([], of: signed[...]))
        expect(!key.verify(Array(signature.dropLast()), of: signed[...]))
        expect(!key.verify(signature + [0], of: signed[...]))
        expect(!key.verify([0] + signature, of: signed[...]))
    }

    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    /// RFC 7519, section 3.1, has the same token.
    @Test func `RFC 7515, A 1: HS256`() throws {
        let secret = try bytes("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
        let (signed, signature) = try parts(
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(Self.payload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        let key = try #require(HMACKey(.hs256, secret: secret))
        expect(key.sign(signed), equals: signature)
        expect(key.verify(signature, of: signed[...]))
        expect(!key.verify(Array(signature.dropLast()), of: signed[...]))
        expect(!key.verify(signature, of: signed.dropLast()))
    }

    @Test func `RFC 7515, A 2: RS256`() throws {
        let modulus =
            "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
        let signature =
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        let key = try jwk(#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB"}"#)
        try expectVerified("eyJhbGciOiJSUzI1NiJ9.\(Self.payload).\(signature)", by: PublicKey(.rs256, jwk: key))
    }

    @Test func `RFC 7515, A 3: ES256`() throws {
        let key = try jwk(
            #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
        )
        let signature =
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        try expectVerified("eyJhbGciOiJFUzI1NiJ9.\(Self.payload).\(signature)", by: PublicKey(.es256, jwk: key))
    }

    @Test func `RFC 8037, A 1 to A 5: EdDSA`() throws {
        let token =
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        let key = try jwk(
            #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#)
        try expectVerified(token, by: PublicKey(.eddsa, jwk: key))
        // PKCS #8 around the private half.
        let start: [UInt8] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
        let der = Data(start + (try bytes("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")))
        let pem = "-----BEGIN PRIVATE KEY-----\n\(der.base64EncodedString())\n-----END PRIVATE KEY-----\n"
        let (signed, signature) = try parts(token)
        try expect(#require(PrivateKey(.eddsa, pem: pem)).sign(signed), equals: signature)
    }

    @Test func `RFC 6455, 4 2 2: the SHA-1 of an opening`() {
        let digest = SHA1.hash(Array("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
        expect(Data(digest).base64EncodedString(), equals: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        let empty = SHA1.hash([])
        expect(empty.starts(with: [0xDA, 0x39, 0xA3, 0xEE]) && empty.count == 20)
    }
}
