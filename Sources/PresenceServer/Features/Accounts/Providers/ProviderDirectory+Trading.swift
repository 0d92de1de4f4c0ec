import Foundation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol
import Tokens

/// Trading a provider's authorization code for an identity token.
extension ProviderDirectory {
    private static let life: Milliseconds = 300_000
    private static let mostTokenBytes = 65_536

    func trade(
        _ code: String, _ state: SignInState, at endpoint: String, _ provider: Provider, callback: String,
        on shard: ShardLogic
    ) async throws(Refusal) -> String {
        guard reserve(provider) else { throw IdentityRefusal.unavailable(after: 1_000).refusal }
        defer { release(provider) }
        let secret = try await secret(of: provider, on: shard)
        var request = OutgoingRequest(
            "POST", endpoint,
            body: Array(
                FormFields.text([
                    ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", callback),
                    ("client_id", provider.clientIDs[0]), ("client_secret", secret), ("code_verifier", state.verifier),
                ]).utf8))
        request.headers = [
            ("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json"),
        ]
        request.limits.total = Self.patience
        request.limits.responseBytes = Self.mostTokenBytes
        let response: OutgoingResponse
        do throws(OutgoingFailure) {
            response = try await Self.client.send(request)
        } catch {
            throw failure(of: provider, error.reason, on: shard)
        }
        if response.status == 200, let granted = try? JSONDecoder().decode(Granted.self, from: Data(response.body)) {
            return granted.token
        }
        // RFC 6749, section 5.2: the code is refused.
        if response.status == 400 { throw IdentityRefusal.token(.malformed).refusal }
        throw failure(of: provider, "status \(response.status)", on: shard)
    }

    private func failure(of provider: Provider, _ reason: String, on shard: ShardLogic) -> Refusal {
        shard.log("provider unavailable", ["provider": provider.name, "reason": reason], level: .warning)
        return IdentityRefusal.unavailable(after: 1_000).refusal
    }

    private struct Granted: Decodable {
        let token: String

        private enum CodingKeys: String, CodingKey { case token = "id_token" }
    }

    /// The secret of the app at the provider; Apple's is signed for five minutes.
    private func secret(of provider: Provider, on shard: ShardLogic) async throws(Refusal) -> String {
        switch provider.credential {
        case .secret(let text)?: return text
        case .key(let signer, let team, let id)?:
            let now = shard.clock.redisNow
            let claims: [String: ServiceSigner.Claim] = [
                "iss": .text(team), "iat": .time(now), "exp": .time(now + Self.life), "aud": .text(provider.issuer),
                "sub": .text(provider.clientIDs[0]),
            ]
            let signed = try await shard.work(.signatures) { try? signer.token(claims, keyID: id) }
            guard let signed else { throw IdentityRefusal.unavailable(after: 1_000).refusal }
            return signed
        case nil: throw IdentityRefusal.unavailable(after: 1_000).refusal
        }
    }
}
