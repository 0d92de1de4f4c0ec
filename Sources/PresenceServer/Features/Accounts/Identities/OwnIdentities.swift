import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// `POST /v1/me/identities`, `DELETE /v1/me/identities/{provider}`, and `DELETE /v1/me` with an identity token.
extension Accounts {
    func addIdentity(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let name = try call.body { (body) throws(DecodingFailure) in try body.text("provider") }
        let user = try call.owner()
        var identity = try await verifiedIdentity(in: call, by: name)
        identity.notice = AccountMails.identityAdded(by: name, of: user, self)
        let reply = try await identityChange.link(identity, to: user, with: nil, by: call.writer)
        switch reply.word {
        case "OK", "HELD": break
        case "NONE": throw .noAccount
        case "TAKEN": throw IdentityRefusal.taken.refusal
        case "FULL": throw IdentityRefusal.tooMany.refusal
        case "CHANGED": throw IdentityRefusal.disabled.refusal
        default: throw Refusal(.unavailable, "another request has ended this one", retryAfter: 1_000)
        }
        _ = await giveAddress(of: identity, to: user)
        return try own(try await account(of: user), user)
    }

    func removeIdentity(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let user = try call.owner()
        let keys = shard.partitions.keys(of: user)
        let drop = ScriptCall(
            .dropIdentities, in: keys,
            ["unfinished": keys.unfinished, "user": keys.user(user), "mail": keys.mail],
            [
                "intent": IdentityChange.member(of: user), "user": user, "provider": call.texts[0],
                "notice": AccountMails.identityRemoved(by: call.texts[0], of: user, self),
            ], by: call.writer)
        _ = try await shard.run(drop).accepted(or: UnlinkRefusal.self)
        mail.deliver(keys)
        identityChange.finish(user)
        return .done
    }

    /// Deletes the caller's account if it has no password, and the token is one of its identities.
    func deleteIdentified(_ call: HTTPCall, erases: Bool) async throws(Refusal) -> HTTPResponse {
        let name = try call.body { (body) throws(DecodingFailure) in try body.text("provider") }
        let user = try call.owner()
        guard try await shard.run("HEXISTS", shard.partitions.keys(of: user).user(user), "password").int == 0 else {
            throw Refusal(DecodingFailure.missing("password"))
        }
        let identity = try await verifiedIdentity(in: call, by: name)
        guard let claim = try await claim(on: identity.name), claim.user == user,
            try await isMeant(claim, on: identity.name)
        else { throw IdentityRefusal.disabled.refusal }
        return try await remove(user, held: nil, erases: erases, by: call.writer)
    }
}
