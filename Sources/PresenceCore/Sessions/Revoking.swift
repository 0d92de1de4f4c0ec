import PresenceProtocol
import Redis
import Tokens

/// Tokens that were taken back before they expired: all of a user's that were issued before a time which Redis keeps
/// with the user.
///
/// The script that opens a session looks at it, for it reads the user anyway; users with sessions here get an event.
/// Only a read over HTTP, with the token of a user not connected to this shard, has to ask.
extension ShardLogic {
    func revokingTokens(of user: UserID) -> ScriptCall {
        let keys = partitions.keys(of: user)
        return ScriptCall(
            .revoke, in: keys,
            ["user": keys.user(user), "sessions": keys.sessions(user), "grants": keys.grants(user)], ["user": user])
    }

    /// Ends all sessions of a user, wherever they are.
    func disconnecting(_ user: UserID) -> ScriptCall {
        let keys = partitions.keys(of: user)
        return ScriptCall(
            .disconnect, in: keys,
            [
                "user": keys.user(user), "sessions": keys.sessions(user),
                "past": past.key(of: user, in: keys, or: keys.user(user)),
            ], ["id": user, "bounds": past.bounds])
    }

    /// Whether a user's token is one of them; `nil` when that cannot be known now.
    func isRevoked(_ claims: Claims, answer: @escaping (Bool?) -> Void) {
        guard link.isLive else { return answer(nil) }
        let issuedAt = claims.issuedAt ?? 0
        let keys = partitions.keys(of: claims.subject)
        if let grant = claims.grant {
            // Both, or neither: a device that is signed out has no grant, whatever else is true.
            store.command(["HEXISTS", keys.grants(claims.subject), grant.string], lane: .commands) { [self] result in
                guard case .success(let value) = result else { return answer(nil) }
                guard value.int == 1 else { return answer(true) }
                isRevoked(claims.subject, issuedAt: issuedAt, keys, answer)
            }
        } else {
            isRevoked(claims.subject, issuedAt: issuedAt, keys, answer)
        }
    }

    private func isRevoked(
        _ user: UserID, issuedAt: Timestamp, _ keys: PartitionKeys, _ answer: @escaping (Bool?) -> Void
    ) {
        // What Redis has said of the user once, events keep true.
        if let user = sessions.users[user], user.isRevocationKnown { return answer(issuedAt < user.revokedAt) }
        store.command(["HGET", keys.user(user), "revokedAt"], lane: .commands) { result in
            guard case .success(let value) = result else { return answer(nil) }
            answer(issuedAt < value.int ?? 0)
        }
    }
}
