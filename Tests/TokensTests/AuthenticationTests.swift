import Expectations
import Foundation
import PresenceProtocol
import Signing
import Testing

@testable import Tokens

/// The data directory's own secret, and the claims.
@Suite struct AuthenticationTests {
    private func authenticator(issuer: String? = nil, audience: String? = nil) async throws -> Authenticator {
        var configuration = AuthenticationSettings()
        configuration.issuer = issuer
        configuration.audience = audience
        return try await Authenticator(configuration: configuration, secret: Forge.secret)
    }

    private func verify(_ token: String, now: Timestamp = Forge.now) async throws
        -> Result<Claims, AuthenticationFailure>
    {
        try await authenticator().verify(token, now: now)
    }

    private func verify(payload: [String: String]) async throws -> Result<Claims, AuthenticationFailure> {
        try await verify(Forge.token(payload: Forge.payload(payload)))
    }

    @Test func `a valid token has its user and its expiry`() async throws {
        let claims = try await verify(payload: [:]).get()
        expect(
            claims,
            equals: Claims(subject: UserID("ana")!, isBackend: false, expiresAt: Timestamp(Forge.inAnHour) * 1_000))
    }

    @Test func `a made token is a good token`() async throws {
        let maker = TokenMaker(secret: Forge.secret)
        let user = UserID(#"a"\/{}:,é"#.replacing("é", with: "~"))!
        let token = try maker.make(user: user, lifetime: 500, role: .backend, now: Forge.now)
        try await expect(
            verify(token).get(),
            equals: Claims(subject: user, isBackend: true, expiresAt: Forge.now + 500, issuedAt: Forge.now))
        try await expect(verify(token, now: Forge.now + 499).get().subject, equals: user)
        try await expect(verify(token, now: Forge.now + 500), equals: .failure(.expired))
    }

    // MARK: Signatures

    @Test func `another secret signs nothing here`() async throws {
        let stranger = try Forge.hmac("another-secret-of-at-least-thirty-two-bytes")
        let token = try Forge.token(payload: Forge.payload(), signedBy: stranger)
        try await expect(verify(token), equals: .failure(.badSignature))
    }

    @Test(arguments: [
        "none", "None", "NONE", "nOnE", "", "hs256", "HS512", "HS384", "RS256", "ES256", "EdDSA", "HS256 ",
    ])
    func `a header that names another algorithm is refused, signed or not`(alg: String) async throws {
        let header = #"{"alg":"\#(alg)","typ":"JWT"}"#
        let signed = try Forge.token(header: header, payload: Forge.payload())
        try await expect(verify(signed), equals: .failure(.wrongAlgorithm))
        let unsigned = signed.prefix { _ in true }.split(separator: ".").prefix(2).joined(separator: ".") + "."
        try await expect(verify(unsigned), equals: .failure(.wrongAlgorithm))
    }

    @Test func `a token without its signature is refused`() async throws {
        let token = try Forge.token(payload: Forge.payload())
        let parts = token.split(separator: ".")
        try await expect(verify(parts[0] + "." + parts[1] + "."), equals: .failure(.badSignature))
        try await expect(verify(String(parts[0] + "." + parts[1])), equals: .failure(.malformed))
        // A prefix of the right signature is not half right.
        try await expect(verify(String(token.dropLast(3))) != .success(try verify(token).get()))
    }

    @Test func `no byte of a token can be changed`() async throws {
        let authenticator = try await authenticator()
        let token = Array(try Forge.token(payload: Forge.payload(["role": #""user""#])).utf8)
        for index in token.indices {
            for replacement in [token[index] ^ 1, UInt8(ascii: "."), UInt8(ascii: "="), UInt8(ascii: "A"), 0, 0xFF]
            where replacement != token[index] {
                var forged = token
                forged[index] = replacement
                let result = authenticator.verify(forged[...], now: Forge.now)
                #expect(throws: AuthenticationFailure.self, "byte \(index)") { try result.get() }
            }
        }
    }

    @Test func `claims are read only from the signed part`() async throws {
        let ana = try Forge.token(payload: Forge.payload()).split(separator: ".")
        let forged = Base64URL.encode(Array(Forge.payload(["sub": #""bob""#]).utf8))
        try await expect(verify("\(ana[0]).\(forged).\(ana[2])"), equals: .failure(.badSignature))
    }

    @Test(arguments: [
        "", ".", "..", "...", "a.b.c", "a.b", "ä.ö.ü", "=.=.=", "e30.e30.", "e30.e30.e30", "bnVsbA.e30.e30",
        "W10.W10.W10",
        "e30=.e30=.e30=", " e30.e30.e30", "eyJhbGciOiJIUzI1NiJ9", String(repeating: "a", count: 20_000),
        String(repeating: ".", count: 10_000),
    ])
    func `anything but a token is rejected`(text: String) async throws {
        await #expect(throws: AuthenticationFailure.self) { try await verify(text).get() }
    }

    @Test func `a token of the longest size is read and a longer one is not`() async throws {
        func token(filler: Int) throws -> String {
            try Forge.token(
                payload: Forge.payload(["filler": "\"" + String(repeating: "x", count: filler) + "\""]))
        }
        var filler = Authenticator.longestToken * 3 / 4 - 120
        while try token(filler: filler).utf8.count < Authenticator.longestToken { filler += 1 }
        let longest = try token(filler: filler)
        if longest.utf8.count == Authenticator.longestToken { _ = try await verify(longest).get() }
        try await expect(verify(token(filler: filler + 3)), equals: .failure(.malformed))
        _ = try await verify(token(filler: filler - 3)).get()
    }

    // MARK: Headers

    @Test(arguments: ["main", "", "../../secret", "' OR 1=1 --"])
    func `a key id that is not known is refused, and no other key is tried`(kid: String) async throws {
        let token = try Forge.token(header: #"{"alg":"HS256","kid":"\#(kid)"}"#, payload: Forge.payload())
        try await expect(verify(token), equals: .failure(.unknownKey))
    }

    @Test func `extensions that must be understood are refused`() async throws {
        let header = #"{"alg":"HS256","crit":["b64"],"b64":false}"#
        try await expect(
            verify(Forge.token(header: header, payload: Forge.payload())), equals: .failure(.unsupportedExtension))
    }

    @Test func `a key that comes with the token is not used`() async throws {
        let own = try Forge.hmac("a-key-that-the-attacker-brought-along-with-it")
        let header = #"{"alg":"HS256","jwk":{"kty":"oct","k":"YS1rZXk"},"jku":"https://evil.example/keys"}"#
        try await expect(
            verify(Forge.token(header: header, payload: Forge.payload(), signedBy: own)),
            equals: .failure(.badSignature))
    }

    @Test(arguments: [
        #"{"alg":"HS256","alg":"none"}"#, #"{"alg":["HS256"]}"#, #"{"alg":null}"#, #"{"alg":"HS256","kid":1}"#,
        #"{"alg":"HS256"}x"#, #"["HS256"]"#, #"{"alg":"HS256",}"#,
    ])
    func `a header that readers could take differently is refused`(header: String) async throws {
        try await expect(verify(Forge.token(header: header, payload: Forge.payload())), equals: .failure(.malformed))
    }

    // MARK: Claims

    @Test(arguments: ["", "null", "\"1763715600\"", "true", "0", "-1", "1763715600000", "1e300", "{}", "0.0004"])
    func `a token without a reasonable expiry is refused`(exp: String) async throws {
        try await expect(verify(payload: ["exp": exp]), equals: .failure(.badClaim(.expiration)))
    }

    @Test func `expiry is exact, and may be a fraction`() async throws {
        let token = try Forge.token(payload: Forge.payload(["exp": "1763712000.25"]))
        try await expect(verify(token, now: Forge.now + 249).get().expiresAt, equals: Forge.now + 250)
        try await expect(verify(token, now: Forge.now + 250), equals: .failure(.expired))
        try await expect(
            verify(payload: ["exp": "1.7637156e9"]).get().expiresAt, equals: Timestamp(Forge.inAnHour) * 1_000)
    }

    @Test(arguments: ["nbf", "iat"])
    func `a token from the future is rejected, except for differences of clocks`(claim: String) async throws {
        let seconds = Forge.now / 1_000
        _ = try await verify(payload: [claim: "\(seconds - 100)"]).get()
        _ = try await verify(payload: [claim: "\(seconds + 5)"]).get()
        try await expect(verify(payload: [claim: "\(seconds + 6)"]), equals: .failure(.notYetValid))
        try await expect(verify(payload: [claim: "\(Forge.now)"]) != .failure(.notYetValid))
        await #expect(throws: AuthenticationFailure.self) { try await verify(payload: [claim: "\"now\""]).get() }
        await #expect(throws: AuthenticationFailure.self) { try await verify(payload: [claim: "-1"]).get() }
    }

    @Test(arguments: ["", "null", "\"\"", "\"a b\"", "\"jos\u{E9}\"", "7", "[\"ana\"]", "\"a\\u0000b\"", "\"\\ud800\""])
    func `a subject that is not a user id is rejected`(sub: String) async throws {
        await #expect(throws: AuthenticationFailure.self) { try await verify(payload: ["sub": sub]).get() }
    }

    @Test func `a subject is at most 128 bytes, with escapes decoded`() async throws {
        let longest = String(repeating: "x", count: 128)
        try await expect(verify(payload: ["sub": "\"\(longest)\""]).get().subject.string, equals: longest)
        try await expect(verify(payload: ["sub": "\"\(longest)x\""]), equals: .failure(.badClaim(.subject)))
        try await expect(verify(payload: ["sub": #""\u0061n\u0061""#]).get().subject.string, equals: "ana")
    }

    @Test func `a claim that is there twice is refused`() async throws {
        let payload = #"{"sub":"ana","sub":"bob","exp":\#(Forge.inAnHour)}"#
        await #expect(throws: AuthenticationFailure.self) {
            try await verify(Forge.token(payload: payload)).get()
        }
        let escaped = #"{"sub":"ana","s\u0075b":"bob","exp":\#(Forge.inAnHour)}"#
        await #expect(throws: AuthenticationFailure.self) {
            try await verify(Forge.token(payload: escaped)).get()
        }
    }

    @Test(arguments: [
        #""Backend""#, #""backend ""#, #""BACKEND""#, #""admin""#, #"["backend"]"#, "true", "1", "null",
        #"{"backend":true}"#, #""user""#, "",
    ])
    func `nothing but the role backend makes a backend`(role: String) async throws {
        try await expect(verify(payload: ["role": role]).get().isBackend, equals: false)
    }

    @Test func `claims that are not known are passed over, however they look`() async throws {
        let extra = #"{"deep":[[[{"a":[1,2,{"b":null}]}]]],"text":"\"}\\"}"#
        try await expect(verify(payload: ["x": extra, "y": "[]", "z": "-1.5e-3"]).get().subject.string, equals: "ana")
        let nested = String(repeating: "[", count: 5_000) + String(repeating: "]", count: 5_000)
        await #expect(throws: AuthenticationFailure.self) { try await verify(payload: ["x": nested]).get() }
    }

    // MARK: Issuer and audience

    @Test func `issuer and audience must be as configured where a token names them`() async throws {
        let authenticator = try await authenticator(issuer: "https://app.example", audience: "presence")
        func verify(_ members: [String: String]) async throws -> Result<Claims, AuthenticationFailure> {
            authenticator.verify(try Forge.token(payload: Forge.payload(members)), now: Forge.now)
        }
        let iss = #""https://app.example""#
        _ = try await verify(["iss": iss, "aud": #""presence""#]).get()
        _ = try await verify(["iss": iss, "aud": #"["other","presence"]"#]).get()
        // No one else knows the secret: a token that names no issuer is ours.
        _ = try await verify([:]).get()
        try await expect(verify(["iss": #""https://app.example/""#]), equals: .failure(.badClaim(.issuer)))
        try await expect(verify(["iss": "null"]), equals: .failure(.badClaim(.issuer)))
        try await expect(verify(["aud": #""other""#]), equals: .failure(.badClaim(.audience)))
        try await expect(verify(["aud": "[]"]), equals: .failure(.badClaim(.audience)))
        try await expect(verify(["aud": #"["presence",1]"#]), equals: .failure(.badClaim(.audience)))
    }

    // MARK: Error messages

    @Test func `a failure shows nothing of the token`() async throws {
        let token = try Forge.token(payload: Forge.payload(["sub": #""a secret name""#]))
        guard case .failure(let failure) = try await verify(token) else {
            Issue.record("it was accepted")
            return
        }
        for part in token.split(separator: ".").map(String.init) + ["a secret name"] {
            expect(!"\(failure)".contains(part))
            expect(!String(reflecting: failure).contains(part))
        }
        expect(!"\(Forge.secret)".contains("horse") && !String(reflecting: Forge.secret).contains("horse"))
        var dumped = ""
        dump(Forge.secret, to: &dumped)
        expect(!dumped.contains("horse"))
    }

    @Test func `secrets are long, random and never the same`() {
        let texts = Set((0..<100).map { _ in TokenSecret().text })
        expect(texts.count, equals: 100)
        expect(texts.allSatisfy { $0.utf8.count == 43 })
        let zeros = String(repeating: "\0", count: 44)
        for text in ["short", "", "   \n", String(repeating: " ", count: 40), zeros, Forge.secret.text + zeros] {
            expect(TokenSecret(text)?.text, equals: nil)
        }
        expect(TokenSecret("\n \(Forge.secret.text)\n")?.text, equals: Forge.secret.text)
    }
}
