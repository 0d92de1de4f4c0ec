import Foundation
import PresenceProtocol
import Signing
import Testing
import Tokens

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A provider whose documents the servers of a world have already. Its tokens are real ones.
struct SimulatedProvider {
    static let setting = [setting(of: "test")]

    static func setting(of name: String) -> String { "name=\(name) kind=oidc clientIds=app issuer=\(issuer(of: name))" }
    static func issuer(of name: String) -> String { "https://\(name).example.org" }

    let name: String
    private let world: World
    private let signer: ServiceSigner
    private let keys: String

    init(_ name: String = "test", knownTo accounts: AccountWorld) throws {
        (self.name, world) = (name, accounts.world)
        let key = try PrivateKey()
        signer = try ServiceSigner(.es256, pem: key.pem)
        let point = key.publicKey.point
        let (x, y) = (Base64URL.encode(Array(point[1..<33])), Base64URL.encode(Array(point[33...])))
        keys = #"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"\#(x)","y":"\#(y)"}]}"#
        for shard in world.shards { try tell(shard) }
    }

    /// Gives a server the documents, as if it had asked for them.
    func tell(_ shard: SimulatedShard) throws {
        let feature = try #require(shard.logic.feature(Accounts.self))
        let provider = try #require(feature.providers.first { $0.name == name })
        let issuer = Self.issuer(of: name)
        let texts = ProviderDocuments.Texts(
            issuer: issuer, until: world.redisNow + 80_000_000,
            configuration: #"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys"}"#, keys: keys)
        let documents = try #require(ProviderDocuments(texts, of: provider))
        feature.directory.finish(provider, .success(documents), at: world.redisNow)
    }

    func token(_ subject: String, _ email: String? = nil, isVerified: Bool = true) throws -> String {
        let now = world.redisNow
        var claims: [String: ServiceSigner.Claim] = [
            "iss": .text(Self.issuer(of: name)), "aud": .text("app"), "sub": .text(subject),
            "iat": .time(now - 600_000), "exp": .time(now + 3_600_000),
        ]
        if let email {
            claims["email"] = .text(email)
            claims["email_verified"] = .text(isVerified ? "true" : "false")
        }
        return try signer.token(claims, keyID: "1")
    }

    func body(_ subject: String, _ email: String? = nil, isVerified: Bool = true) throws -> [String: Any] {
        ["provider": name, "idToken": try token(subject, email, isVerified: isVerified)]
    }
}
