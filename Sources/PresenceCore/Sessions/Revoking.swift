import PresenceProtocol
import Redis
import Tokens

/// Revocation: all tokens of a user issued before a time that Redis keeps with the user are invalid.
///
/// The script that opens a session reads the user anyway and checks this time; users with sessions here get an event.
/// Only an HTTP request with the token of a user who is not connected to this shard has to ask Redis.
extension ShardLogic {
    func revokingTokens(of user: UserID) -> ScriptCall {
        let keys = partitions.keys(of: user)
        return ScriptCall(
            .revoke, in: keys,
            ["user": keys.user(user), "sessions": keys.sessions(user), "grants": keys.grants(user)], ["user": user])
    }

    /// Ends all sessions of a user, on all shards.
    func disconnecting(_ user: UserID) -> ScriptCall {
        let keys = partitions.keys(of: user)
        return ScriptCall(
            .disconnect, in: keys,
            [
                "user": keys.user(user), "sessions": keys.sessions(user),
                "past": past.key(of: user, in: keys, or: keys.user(user)),
            ], ["id": user, "bounds": past.bounds])
    }

    /// Whether a user's token has been revoked, or the user is banned; `nil` if this cannot be determined now.
    func standing(of claims: Claims, answer: @escaping (TokenStanding?) -> Void) {
        guard link.isLive else { return answer(nil) }
        let issuedAt = claims.issuedAt ?? 0
        let keys = partitions.keys(of: claims.subject)
        if let grant = claims.grant {
            // Both must hold: a device that is signed out has no grant, whatever the token's time of issue.
            store.command(["HEXISTS", keys.grants(claims.subject), grant.string], lane: .commands) { [self] result in
                guard case .success(let value) = result else { return answer(nil) }
                guard value.int == 1 else { return answer(.revoked) }
                standing(of: claims.subject, issuedAt: issuedAt, keys, answer)
            }
        } else {
            standing(of: claims.subject, issuedAt: issuedAt, keys, answer)
        }
    }

    private func standing(
        of user: UserID, issuedAt: Timestamp, _ keys: PartitionKeys, _ answer: @escaping (TokenStanding?) -> Void
    ) {
        // Once read from Redis, the value is kept current by events; and a user with sessions is not banned.
        if let user = sessions.users[user], user.isRevocationKnown {
            return answer(issuedAt < user.revokedAt ? .revoked : .valid)
        }
        store.command(["HMGET", keys.user(user), "revokedAt", "ban"], lane: .commands) { [clock] result in
            guard case .success(let value) = result else { return answer(nil) }
            answer(TokenStanding(value, issuedAt: issuedAt, at: clock.redisNow))
        }
    }
}
