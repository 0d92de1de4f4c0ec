import Expectations
import Foundation
import PresenceProtocol
import Signing
import TestSupport
import Testing

@testable import Tokens

/// Public keys of applications, in PEM files and key sets.
@Suite struct AuthenticationKeyTests {
    /// One application with a key of each kind, and the server that knows their public halves.
    private struct Application {
        let scratch: ScratchDirectory
        let signers: [String: Forge.Signer]
        let publicPEM = [
            "RS256": TestKeys.rsaPublic, "ES256": TestKeys.ecdsaPublic, "EdDSA": TestKeys.eddsaPublic,
        ]
        let files: [String: String]
        let authenticator: Authenticator

        init(issuer: String? = nil, audience: String? = nil) async throws {
            scratch = try ScratchDirectory()
            signers = [
                "RS256": try Forge.signer(.rs256, TestKeys.rsa), "ES256": try Forge.signer(.es256, TestKeys.ecdsa),
                "EdDSA": try Forge.signer(.eddsa, TestKeys.eddsa),
            ]
            var files: [String: String] = [:]
            for (alg, pem) in publicPEM { files[alg] = try scratch.write(pem, to: "\(alg).pem") }
            self.files = files
            var configuration = AuthenticationSettings()
            configuration.keys = files.map { .init(kid: "key-\($0)", alg: $0, file: $1) }
            configuration.issuer = issuer
            configuration.audience = audience
            authenticator = try await Authenticator(configuration: configuration, secret: Forge.secret)
        }

        func token(alg: String, kid: String?, signer: String? = nil, payload: [String: String] = [:]) throws -> String {
            let header = kid.map { #"{"alg":"\#(alg)","kid":"\#($0)"}"# } ?? #"{"alg":"\#(alg)"}"#
            return try Forge.token(
                header: header, payload: Forge.payload(payload), signedBy: signers[signer ?? alg])
        }
    }

    @Test(arguments: ["RS256", "ES256", "EdDSA"])
    func `a token of a configured key is accepted`(alg: String) async throws {
        let application = try await Application()
        let token = try application.token(alg: alg, kid: "key-\(alg)")
        try expect(application.authenticator.verify(token, now: Forge.now).get().subject.string, equals: "ana")
    }

    @Test func `a certificate stands for its public key, as Firebase gives them`() async throws {
        let scratch = try ScratchDirectory()
        var configuration = AuthenticationSettings()
        configuration.keys = [
            .init(kid: "one", alg: "RS256", file: try scratch.write(TestKeys.rsaCertificate, to: "certificate.pem"))
        ]
        let authenticator = try await Authenticator(configuration: configuration, secret: nil)
        let token = try Forge.token(
            header: #"{"alg":"RS256","kid":"one"}"#, payload: Forge.payload(),
            signedBy: Forge.signer(.rs256, TestKeys.rsa))
        try expect(authenticator.verify(token, now: Forge.now).get().subject.string, equals: "ana")
    }

    @Test(arguments: ["RS256", "ES256", "EdDSA"])
    func `a public key is not a secret`(alg: String) async throws {
        let application = try await Application()
        let pem = application.publicPEM[alg]!
        // The classic confusion: HMAC with the public key's text as the secret, in all the forms that it may be read in.
        for text in [pem, pem + "\n", pem.trimmingCharacters(in: .whitespacesAndNewlines)] {
            let hmac = try Forge.hmac(text)
            for kid in ["\"kid\":\"key-\(alg)\",", ""] {
                let token = try Forge.token(
                    header: "{\(kid)\"alg\":\"HS256\"}", payload: Forge.payload(), signedBy: hmac)
                #expect(throws: AuthenticationFailure.self) {
                    try application.authenticator.verify(token, now: Forge.now).get()
                }
            }
        }
    }

    @Test func `a key verifies its own algorithm only, and only under its own id`() async throws {
        let application = try await Application()
        for signer in ["RS256", "ES256", "EdDSA"] {
            for alg in ["RS256", "ES256", "EdDSA", "RS512", "PS256", "ES384", "HS256", "none"] {
                for kid in ["key-RS256", "key-ES256", "key-EdDSA", nil] where !(kid == "key-\(alg)" && alg == signer) {
                    let token = try application.token(alg: alg, kid: kid, signer: signer)
                    #expect(throws: AuthenticationFailure.self, "\(signer) \(alg) \(kid ?? "-")") {
                        try application.authenticator.verify(token, now: Forge.now).get()
                    }
                }
            }
        }
    }

    @Test func `an application's token must name the configured issuer and audience`() async throws {
        let application = try await Application(issuer: "app", audience: "presence")
        func verify(_ payload: [String: String]) throws -> Result<Claims, AuthenticationFailure> {
            let token = try application.token(alg: "ES256", kid: "key-ES256", payload: payload)
            return application.authenticator.verify(token, now: Forge.now)
        }
        _ = try verify(["iss": #""app""#, "aud": #""presence""#]).get()
        try expect(verify(["aud": #""presence""#]), equals: .failure(.badClaim(.issuer)))
        try expect(verify(["iss": #""app""#]), equals: .failure(.badClaim(.audience)))
    }

    @Test func `a file without such a key is an error that names it`() async throws {
        let application = try await Application()
        func reason(alg: String, file: String) async -> String {
            var configuration = AuthenticationSettings()
            configuration.keys = [.init(kid: "main", alg: alg, file: file)]
            do {
                _ = try await Authenticator(configuration: configuration, secret: nil)
                return "accepted"
            } catch {
                return "\(error)"
            }
        }
        for (alg, other) in [("RS256", "ES256"), ("ES256", "EdDSA"), ("EdDSA", "RS256")] {
            let file = application.files[other]!
            await expect(reason(alg: alg, file: file).contains(file))
        }
        let absent = application.scratch.path + "/absent.pem"
        await expect(
            reason(alg: "ES256", file: absent), equals: "auth.keys: \(absent) cannot be read: No such file or directory"
        )
        let nonsense = try application.scratch.write("nonsense", to: "nonsense.pem")
        await expect(reason(alg: "RS256", file: nonsense).contains(nonsense))
        let secret = try application.scratch.write(TestKeys.ecdsa, to: "private.pem")
        await expect(reason(alg: "ES256", file: secret).contains("not a public key"))
        let weak = try application.scratch.write(TestKeys.weakPublicRSA, to: "weak.pem")
        await expect(reason(alg: "RS256", file: weak).contains("2048"))
    }

    // MARK: Key sets

    private func keySet(_ json: String) async throws -> Authenticator {
        let scratch = try ScratchDirectory()
        var configuration = AuthenticationSettings()
        configuration.jwksFile = try scratch.write(json, to: "keys.json")
        return try await Authenticator(configuration: configuration, secret: nil)
    }

    /// As Entra ID and others publish them: no alg, unknown members, and keys of other kinds.
    @Test func `a key without alg has that of its kind, and an unsupported one is skipped and reported`()
        async throws
    {
        // The last 64 bytes of the public key's DER.
        let der = try #require(
            Data(base64Encoded: TestKeys.ecdsaPublic.split(separator: "\n").dropFirst().dropLast().joined()))
        let (x, y) = (Base64URL.encode(Array(der.suffix(64).prefix(32))), Base64URL.encode(Array(der.suffix(32))))
        let others = [
            #"{"kty":"EC","crv":"P-384","kid":"p384","x":"AQ","y":"AQ"}"#,
            #"{"kty":"RSA","alg":"PS512","kid":"ps","n":"AQ","e":"AQAB"}"#,
            #"{"kty":"AKP","alg":"ML-DSA-44","kid":"future","pub":"AQ"}"#,
            #"{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}"#,
            #"{"kty":"RSA","kid":"weak","n":"AQ","e":"AQAB"}"#, #"{"kty":5,"kid":"odd"}"#, "17",
            #"{"kty":"RSA","kid":"half","alg":"RS256"}"#,
        ]
        let jwk =
            #"{"kty":"EC","crv":"P-256","kid":"one","x5t":"t","x5c":["c"],"issuer":"i","x":"\#(x)","y":"\#(y)"}"#
        for place in 0...others.count {
            var keys = others
            keys.insert(jwk, at: place)
            let authenticator = try await keySet(#"{"keys":[\#(keys.joined(separator: ","))]}"#)
            let reasons = authenticator.passedOver
            expect(
                reasons.count == others.count && reasons.allSatisfy { $0.contains("keys.json: key ") }, "\(reasons)")
            let signer = try Forge.signer(.es256, TestKeys.ecdsa)
            let token = try Forge.token(
                header: #"{"alg":"ES256","kid":"one"}"#, payload: Forge.payload(), signedBy: signer)
            try expect(authenticator.verify(token, now: Forge.now).get().subject.string, equals: "ana")
            // Its kind decides, not the token.
            let forged = try Forge.token(
                header: #"{"alg":"RS256","kid":"one"}"#, payload: Forge.payload(), signedBy: signer)
            expect(authenticator.verify(forged, now: Forge.now), equals: .failure(.wrongAlgorithm))
        }
    }

    @Test func `a key set's keys verify, and keys for encryption are passed over`() async throws {
        // The last 64 bytes of the public key's DER.
        let der = try #require(
            Data(base64Encoded: TestKeys.ecdsaPublic.split(separator: "\n").dropFirst().dropLast().joined()))
        let (x, y) = (Base64URL.encode(Array(der.suffix(64).prefix(32))), Base64URL.encode(Array(der.suffix(32))))
        let jwk =
            #"{"kty":"EC","crv":"P-256","kid":"one","alg":"ES256","use":"sig","x":"\#(x)","y":"\#(y)"}"#
        let authenticator = try await keySet(
            #"{"keys":[\#(jwk),{"kty":"RSA","use":"enc","alg":"RSA-OAEP","kid":"two","n":"AQ","e":"AQAB"}]}"#)
        let token = try Forge.token(
            header: #"{"alg":"ES256","kid":"one"}"#, payload: Forge.payload(),
            signedBy: Forge.signer(.es256, TestKeys.ecdsa))
        try expect(authenticator.verify(token, now: Forge.now).get().subject.string, equals: "ana")
        // Without a secret of its own, a server has no key for a token without a `kid`.
        expect(
            authenticator.verify(try Forge.token(payload: Forge.payload()), now: Forge.now),
            equals: .failure(.unknownKey))
    }

    @Test(arguments: [
        ("not JSON", "not a JSON Web Key Set"), ("{}", "not a JSON Web Key Set"), ("[]", "not a JSON Web Key Set"),
        (#"{"keys":[{"kty":"RSA","alg":"RS256","n":"AQ","e":"AQAB"}]}"#, "has no kid"),
        (#"{"keys":[{"kty":"RSA","kid":"a","n":"AQ","e":"AQAB"}]}"#, "not a key for RS256"),
        (#"{"keys":[{"kty":"RSA","kid":"a","alg":"RS512","n":"AQ","e":"AQAB"}]}"#, "not for RS256, ES256 or EdDSA"),
        (#"{"keys":[{"kty":"EC","crv":"P-384","kid":"a","x":"AQ","y":"AQ"}]}"#, "not for RS256, ES256 or EdDSA"),
        (#"{"keys":[{"kty":"oct","kid":"a","alg":"HS256","k":"c2VjcmV0"}]}"#, "private"),
        (#"{"keys":[5]}"#, "cannot be read"),
        (#"{"keys":[{"kty":"oct","kid":"a","alg":"ES256","k":"c2VjcmV0"}]}"#, "private"),
        (#"{"keys":[{"kty":"EC","crv":"P-256","kid":"a","alg":"ES256","x":"AQ","y":"AQ","d":"AQ"}]}"#, "private"),
        (#"{"keys":[{"kty":"EC","crv":"P-256","kid":"a","alg":"ES256","x":"AQ","y":"AQ"}]}"#, "not a key for ES256"),
        (#"{"keys":[{"kty":"RSA","kid":"a","alg":"ES256","n":"AQ","e":"AQAB"}]}"#, "not a key for ES256"),
    ])
    func `a key set of which no key can be used, or that has a private one, is refused`(json: String, reason: String)
        async throws
    {
        await #expect {
            _ = try await keySet(json)
        } throws: {
            "\($0)".contains(reason) && "\($0)".contains("keys.json")
        }
    }
}
