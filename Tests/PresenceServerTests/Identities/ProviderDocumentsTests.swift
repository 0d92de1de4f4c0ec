import Expectations
import Foundation
import PresenceProtocol
import Signing
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator
@testable import Tokens

/// The documents that providers publish, in `Documents`: their members are those of the real ones, and their keys are invented.
@Suite struct ProviderDocumentsTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let kind: String
        /// As it is configured; `nil` for the kind's own.
        let issuer: String?
        /// As the tokens name it.
        let stated: String
        let authorization: String
        let token: String
        let usable: Int
        var testDescription: String { name }

        var setting: String {
            "name=\(name) kind=\(kind) clientIds=app" + (issuer.map { " issuer=\($0)" } ?? "")
        }
    }

    static let microsoft = Sample(
        name: "microsoft", kind: "oidc", issuer: "https://login.microsoftonline.com/common/v2.0",
        stated: "https://login.microsoftonline.com/{tenantid}/v2.0",
        authorization: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        token: "https://login.microsoftonline.com/common/oauth2/v2.0/token", usable: 2)

    static let samples = [
        Sample(
            name: "apple", kind: "apple", issuer: nil, stated: "https://appleid.apple.com",
            authorization: "https://appleid.apple.com/auth/authorize", token: "https://appleid.apple.com/auth/token",
            usable: 3),
        Sample(
            name: "google", kind: "google", issuer: nil, stated: "https://accounts.google.com",
            authorization: "https://accounts.google.com/o/oauth2/v2/auth",
            token: "https://oauth2.googleapis.com/token", usable: 2),
        microsoft,
        Sample(
            name: "auth0", kind: "oidc", issuer: "https://example.eu.auth0.com/",
            stated: "https://example.eu.auth0.com/", authorization: "https://example.eu.auth0.com/authorize",
            token: "https://example.eu.auth0.com/oauth/token", usable: 2),
        // A key for encryption and one for RS512 are not used.
        Sample(
            name: "keycloak", kind: "oidc", issuer: "https://login.example.org/realms/main",
            stated: "https://login.example.org/realms/main",
            authorization: "https://login.example.org/realms/main/protocol/openid-connect/auth",
            token: "https://login.example.org/realms/main/protocol/openid-connect/token", usable: 2),
    ]

    private func provider(_ setting: String) throws -> Provider {
        var configuration = ServerConfiguration()
        configuration[Accounts.providers] = [setting]
        return try #require(try Provider.all(configuration).first)
    }

    private func text(_ name: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        return try String(contentsOf: folder.appending(path: "Documents/\(name).json"), encoding: .utf8)
    }

    private func texts(_ sample: Sample, of provider: Provider) throws -> ProviderDocuments.Texts {
        ProviderDocuments.Texts(
            issuer: provider.issuer, until: 1, configuration: try text(sample.name + "-configuration"),
            keys: try text(sample.name + "-keys"))
    }

    @Test(arguments: samples) func `documents of real providers are read`(sample: Sample) throws {
        let provider = try provider(sample.setting)
        let documents = try #require(ProviderDocuments(try texts(sample, of: provider), of: provider))
        expect(documents.issuer, equals: sample.stated)
        expect(documents.authorization == sample.authorization && documents.token == sample.token)
        let keys = try JSONSerialization.jsonObject(with: Data(try text(sample.name + "-keys").utf8)) as? [String: Any]
        let ids = (keys?["keys"] as? [[String: Any]] ?? []).compactMap { $0["kid"] as? String }
        expect(ids.count { documents.keys[$0] != nil }, equals: sample.usable)
    }

    @Test(arguments: samples) func `documents of another provider are not read`(sample: Sample) throws {
        for other in Self.samples where other.name != sample.name {
            let provider = try provider(other.setting)
            expect(ProviderDocuments(try texts(sample, of: provider), of: provider) == nil, "\(other.name)")
        }
    }

    // MARK: Tenants

    private static let (tenant, other) = (
        "9188040d-6c67-4c5b-b112-36a304b66dad", "0f0f0f0f-1111-2222-3333-444444444444"
    )

    /// Microsoft publishes the keys of all tenants together, and names those that sign for one of them only.
    @Test func `a key of one tenant does not sign for another`() throws {
        let bound = try PrivateKey()
        let common = try PrivateKey()
        let keys = try #require(
            IdentityKeys(
                json: Array(
                    """
                    {"keys":[\(jwk(bound, "bound", "https://login.microsoftonline.com/\(Self.tenant)/v2.0")),
                    \(jwk(common, "common", "https://login.microsoftonline.com/{tenantid}/v2.0"))]}
                    """.utf8)))
        try expect(issuer(of: token(bound, "bound", of: Self.tenant), keys).hasSuffix("/\(Self.tenant)/v2.0"))
        #expect(throws: IdentityFailure.wrongIssuer) { try issuer(of: token(bound, "bound", of: Self.other), keys) }
        for tenant in [Self.tenant, Self.other] {
            try expect(issuer(of: token(common, "common", of: tenant), keys).hasSuffix("/\(tenant)/v2.0"))
        }
        // The tenant of the issuer is the token's.
        #expect(throws: IdentityFailure.wrongIssuer) {
            try issuer(of: token(common, "common", of: Self.tenant, named: Self.other), keys)
        }
        #expect(throws: IdentityFailure.wrongIssuer) {
            try issuer(of: token(common, "common", of: "x/../" + Self.tenant), keys)
        }
    }

    private func issuer(of token: String, _ keys: IdentityKeys) throws -> String {
        let rules = IdentityRules(issuer: Self.microsoft.stated, clientIDs: ["app"], nonces: nil)
        return try IdentityToken(token).claims(by: keys, rules, now: 1_700_000_000_000).issuer
    }

    private func jwk(_ key: PrivateKey, _ kid: String, _ issuer: String) -> String {
        let point = key.publicKey.point
        let (x, y) = (Base64URL.encode(Array(point[1..<33])), Base64URL.encode(Array(point[33...])))
        return #"{"kty":"EC","crv":"P-256","use":"sig","kid":"\#(kid)","x":"\#(x)","y":"\#(y)","issuer":"\#(issuer)"}"#
    }

    private func token(_ key: PrivateKey, _ kid: String, of tenant: String, named: String? = nil) throws -> String {
        try ServiceSigner(.es256, pem: key.pem).token(
            [
                "iss": .text("https://login.microsoftonline.com/\(tenant)/v2.0"), "tid": .text(named ?? tenant),
                "aud": .text("app"), "sub": .text("ana"), "iat": .time(1_700_000_000_000),
                "exp": .time(1_700_000_600_000),
            ], keyID: kid)
    }
}
