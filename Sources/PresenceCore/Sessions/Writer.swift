import PresenceProtocol
import Redis
import Tokens

/// The author of a change: a user, with their token.
///
/// The token was valid when the request was admitted; since then it may have been revoked, the account deleted, or the
/// user banned. So the script that makes the change checks again in the same step (`refusal` in lib.lua), and a late change has no
/// effect. The same applies to requests of a session that has ended or was replaced by its device's next connection.
/// Changes by backends and by the server itself have no writer.
///
/// A script has access to its own partition only. If the change is in another partition than the user,
/// ``ShardLogic/unlessRevoked(_:done:_:)`` asks Redis just before the change, and again if the server stood still
/// meanwhile.
package struct Writer {
    /// The grant of the token, if the server itself issued it to a device.
    package let grant: Identifier?
    /// When the token was issued; 0 if it does not have a time.
    private let issuedAt: Timestamp
    /// The session that made the request; `nil` over HTTP.
    let session: String?
    private let user: UserID
    private let home: PartitionKeys

    package init(_ session: Session) {
        (grant, issuedAt, self.session) = (session.grant, session.issuedAt, session.id)
        (user, home) = (session.user.id, session.user.keys)
    }

    init(_ claims: Claims, in partitions: Partitions) {
        (grant, issuedAt, session) = (claims.grant, claims.issuedAt ?? 0, nil)
        (user, home) = (claims.subject, partitions.keys(of: claims.subject))
    }

    /// The last keys of a script in the user's own partition. A ban ends all sessions, so only a call over HTTP has to
    /// look for one besides its grant (`h`).
    ///
    /// - Parameter readsUser: Whether the script reads the user's record anyway, and compares the time of revocation there.
    func addKeys(to keys: inout [String], readsUser: Bool) {
        let (kind, word): (String, String)
        if let grant {
            if session == nil { keys.append(home.user(user)) }
            keys.append(key)
            (kind, word) = (session == nil ? ":writer:h:" : ":writer:g:", grant.string)
        } else {
            if !readsUser { keys.append(key) }
            (kind, word) = (readsUser ? ":writer:u:" : ":writer:t:", String(issuedAt))
        }
        if session != nil { keys.append(home.sessions(user)) }
        keys.append(String(joining: home.name, kind, word, session == nil ? "" : " ", session ?? ""))
    }

    /// Revoking the tokens removes all grants, so an existing grant is valid.
    private var key: String { grant == nil ? home.user(user) : home.grants(user) }

    fileprivate var question: [String] {
        grant.map { ["HEXISTS", key, $0.string] } ?? ["HMGET", key, "revokedAt", "ban"]
    }

    /// Asks whether the user is banned, if nothing else shows that.
    fileprivate var banQuestion: [String]? {
        grant != nil && session == nil ? ["HGET", home.user(user), "ban"] : nil
    }

    /// Asks whether the session still exists.
    fileprivate var sessionQuestion: [String]? { session.map { ["HEXISTS", home.sessions(user), $0] } }

    fileprivate func standing(_ answer: RedisValue, at now: Timestamp) -> TokenStanding {
        guard grant != nil else { return TokenStanding(answer, issuedAt: issuedAt, at: now) }
        return answer.int == 0 ? .revoked : .valid
    }
}

extension ShardLogic {
    /// Asks Redis whether a token has been revoked, or its user is banned.
    func queryStanding(of writer: Writer, answer: @escaping (Result<TokenStanding, RedisFailure>) -> Void) {
        var ban: Ban?
        if let question = writer.banQuestion {
            // If this fails, the next command fails as well.
            store.command(question, lane: .commands) { [clock] in
                if case .success(let field) = $0 { ban = Ban(field: field, at: clock.redisNow) }
            }
        }
        store.command(writer.question, lane: .commands) { [clock] in
            answer(
                $0.map { reply in
                    let standing = writer.standing(reply, at: clock.redisNow)
                    return standing == .valid ? ban.map { .banned($0) } ?? .valid : standing
                })
        }
    }

    /// Runs a user's change in another partition than their own, if their token is still valid, they are not banned, and
    /// their session still exists; else `done` gets `REVOKED`, `BANNED` or `ENDED`.
    ///
    /// If a server stands still before it processes the reply, it asks again. (No reply of Redis takes longer than
    /// `commandTimeout`.)
    package func unlessRevoked(_ writer: Writer, done: @escaping StoreReply, _ run: @escaping () -> Void) {
        let (asked, before) = (clock.now, standstills)
        var isHere = true
        if let question = writer.sessionQuestion {
            // If this fails, the next command or the script fails as well.
            store.command(question, lane: .commands) { if case .success(let value) = $0 { isHere = value.int != 0 } }
        }
        queryStanding(of: writer) { [unowned self] result in
            switch result {
            case .success where standstills > before || clock.now - asked > configuration.commandTimeout:
                unlessRevoked(writer, done: done, run)
            case .success(.revoked): done(.success(.array([.status("REVOKED")])))
            case .success(.banned(let ban)): done(.success(ban.reply))
            case .success(.valid) where !isHere: done(.success(.array([.status("ENDED")])))
            case .success(.valid): run()
            // Treated like every step of a change that is in progress when Redis is lost.
            case .failure(let failure): done(.failure(failure))
            }
        }
    }
}

extension ShardLogic {
    /// The async form: returns if the token is still valid and the session still exists.
    package func check(_ writer: Writer) async throws(Refusal) {
        let result: Result<RedisValue, RedisFailure> = await tasks.wait { done in
            unlessRevoked(writer, done: done) { done(.success(.array([.status("OK")]))) }
        }
        if let refusal = Refusal(result) { throw refusal }
    }
}
