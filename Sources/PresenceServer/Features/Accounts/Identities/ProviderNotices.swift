import PresenceCore
import PresenceProtocol
import Redis
import Tokens
import WebSockets

/// `POST /v1/signin/{provider}/notifications`: Apple reports that a person has ended the use of an app, or their account there.
///
/// A notice is a token of the provider, in the member `payload`. It counts once, and only for what was linked before it, so a
/// repeated one changes nothing. Tokens that are not accepted count against their address, like those of sign-ins.
extension Accounts {
    /// Notices that end an identity. The others are about the forwarding of mails, which the provider does.
    private static let ending: Set<String> = ["consent-revoked", "account-delete", "account-deleted"]

    func receiveNotice(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        guard let provider = providers.first(where: { $0.name == call.texts[0] && $0.kind == .apple }) else {
            throw Refusal(.notFound, "there is nothing at this path")
        }
        let text = try call.body { (body) throws(DecodingFailure) in try body.text("payload") }
        let logins = try liveLogins()
        try chargeTry(call, "too many tokens were tried from this address: this one was not checked")
        let notice = try await judged(call) { () async throws(Refusal) in
            let token: IdentityToken
            do throws(IdentityFailure) { token = try IdentityToken(text) } catch { throw Self.refusal(error) }
            let documents = try await directory.documents(of: provider, with: token.keyID, on: shard)
            let (rules, now) = (provider.rules(issuer: documents.issuer, nonces: nil), shard.clock.redisNow)
            let verified = try await call.work(.signatures) { () -> Result<ProviderNotice, IdentityFailure> in
                do throws(IdentityFailure) {
                    return .success(try token.notice(by: documents.keys, rules, now: now))
                } catch {
                    return .failure(error)
                }
            }
            switch verified {
            case .success(let notice): return notice
            case .failure(let failure): throw Self.refusal(failure)
            }
        }
        shard.logSparsely("notice of a provider", ["provider": provider.name, "type": notice.type], level: .notice)
        guard Self.ending.contains(notice.type) else { return .empty }
        try await end(logins.identity(notice.issuer, notice.subject), of: provider, notice, logins)
        return .empty
    }

    private static func refusal(_ failure: IdentityFailure) -> Refusal {
        Refusal(
            .unauthorized, "this notice is not accepted: \(failure)", status: 401, field: "payload",
            reason: "invalid_credentials")
    }

    private func end(
        _ digest: String, of provider: Provider, _ notice: ProviderNotice, _ logins: LoginPartitions
    ) async throws(Refusal) {
        guard let place = logins.keys(ofIdentity: digest) else { throw .noStore }
        let claim = try await shard.run("HGET", place.identities(with: digest), digest).string.flatMap {
            AccountClaim($0)
        }
        guard let user = claim?.user else { return }
        let keys = shard.partitions.keys(of: user)
        let reply = try await shard.run(
            ScriptCall(
                .endConsent, in: keys,
                ["unfinished": keys.unfinished, "user": keys.user(user), "mail": keys.mail],
                [
                    "intent": IdentityChange.member(of: user), "user": user, "identity": digest,
                    // `iat` counts whole seconds.
                    "before": notice.issuedAt + 999,
                    "notice": AccountMails.identityRemoved(by: provider.name, of: user, self),
                ]))
        guard reply.word == "OK" else { return }
        mail.deliver(keys)
        identityChange.finish(user)
    }
}
