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
    static let setting = ["name=test kind=oidc clientIds=app issuer=https://provider.example.org"]
    private let signer: ServiceSigner
    private let now: Timestamp

    init(knownTo accounts: AccountWorld) throws {
        let key = try PrivateKey()
        signer = try ServiceSigner(.es256, pem: key.pem)
        let point = key.publicKey.point
        let (x, y) = (Base64URL.encode(Array(point[1..<33])), Base64URL.encode(Array(point[33...])))
        let keys = #"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"\#(x)","y":"\#(y)"}]}"#
        let configuration =
            #"{"issuer":"https://provider.example.org","jwks_uri":"https://provider.example.org/keys"}"#
        now = accounts.world.shards[0].logic.clock.redisNow
        for shard in accounts.world.shards {
            let feature = try #require(shard.logic.feature(Accounts.self))
            let texts = ProviderDocuments.Texts(
                issuer: "https://provider.example.org", until: now + 86_000_000, configuration: configuration,
                keys: keys)
            let documents = try #require(ProviderDocuments(texts, of: feature.providers[0]))
            feature.directory.finish(feature.providers[0], .success(documents), at: now)
        }
    }

    func token(_ subject: String, _ email: String? = nil) throws -> String {
        var claims: [String: ServiceSigner.Claim] = [
            "iss": .text("https://provider.example.org"), "aud": .text("app"), "sub": .text(subject), "iat": .time(now),
            "exp": .time(now + 86_400_000),
        ]
        if let email {
            claims["email"] = .text(email)
            claims["email_verified"] = .text("true")
        }
        return try signer.token(claims, keyID: "1")
    }

    func body(_ subject: String, _ email: String? = nil) throws -> [String: Any] {
        ["provider": "test", "idToken": try token(subject, email)]
    }
}
