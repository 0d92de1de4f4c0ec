import PresenceProtocol
import Redis
import Tokens

/// Tokens that were taken back before they expired: all of a user's that were issued before a time which Redis keeps
/// with the user.
///
/// The script that opens a session looks at it, for it reads the user anyway; users with sessions here get an event.
/// Only a read over HTTP, with the token of a user not connected to this shard, has to ask.
extension ShardLogic {
    func revokeTokens(of user: UserID, done: @escaping StoreReply) {
        let keys = partitions.keys(of: user)
        store.run(
            .revoke, keys: [keys.shards, keys.user(user), keys.sessions(user)],
            arguments: [keys.events, link.incarnation, user.string], lane: .commands, reply: done)
    }

    /// Ends all sessions of a user, wherever they are.
    func disconnect(_ user: UserID, done: @escaping StoreReply) {
        let keys = partitions.keys(of: user)
        store.run(
            .disconnect, keys: [keys.shards, keys.floor, keys.user(user), keys.sessions(user)],
            arguments: [keys.events, link.incarnation, user.string], lane: .commands, reply: done)
    }

    /// Whether a user's token is one of them; `nil` when that cannot be known now.
    func isRevoked(_ claims: Claims, answer: @escaping (Bool?) -> Void) {
        guard link.isLive else { return answer(nil) }
        let issuedAt = claims.issuedAt ?? 0
        // What Redis has said of the user once, events keep true.
        if let user = sessions.users[claims.subject], user.chosen != nil { return answer(issuedAt < user.revokedAt) }
        let key = partitions.keys(of: claims.subject).user(claims.subject)
        store.command(["HGET", key, "revokedAt"], lane: .commands) { result in
            guard case .success(let value) = result else { return answer(nil) }
            answer(issuedAt < value.int ?? 0)
        }
    }
}
