import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// What a user's own sessions hear of the account, and nobody else: after `connected`, and at each change. Only the newest
/// counts.
///
/// What it holds is one account for each user who is connected here and has one.
final class OwnAccounts {
    private unowned let shard: ShardLogic
    private var message: OwnMessages = []
    private var held: [UserID: Held] = [:]
    /// Those who are being asked for.
    private var asked: Set<UserID> = []

    private struct Held {
        let version: Int64
        /// The message, framed.
        let frame: [UInt8]
    }

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        message = registry.ownMessage { [unowned self] connection in
            connection.session.flatMap { held[$0.user.id]?.frame } ?? []
        }
        registry.event("A") { [unowned self] event in
            guard let user = event.subject, shard.sessions.users[user] != nil else { return }
            take(event.version, Array(event.rest), of: user)
        }
    }

    func greeted(_ session: Session) {
        guard held[session.user.id] == nil else { return mark(session) }
        // What is not known now, the resynchronisation reads.
        if shard.link.isLive { read(session.user.id) { _ in } }
    }

    func ended(_ session: Session) {
        if session.user.sessions.allSatisfy({ $0 === session }) { held[session.user.id] = nil }
    }

    /// Events may have been missed.
    func reload(_ done: @escaping (RedisFailure?) -> Void) {
        asked = []
        var failure: RedisFailure?
        BoundedConcurrency(Array(shard.sessions.users.keys), window: 256) { [self] user, next in
            guard failure == nil else { return next() }
            read(user) {
                failure = failure ?? $0
                next()
            }
        } done: {
            done(failure)
        }
    }

    private func read(_ user: UserID, done: @escaping (RedisFailure?) -> Void) {
        guard asked.insert(user).inserted else { return done(nil) }
        let keys = shard.partitions.keys(of: user)
        shard.store.run(
            .account, keys: [keys.user(user), keys.account(user)], arguments: [user.string], lane: .commands
        ) { [self] result in
            asked.remove(user)
            switch result {
            // A damaged account must not keep everything else stale.
            case .failure(let failure) where failure.isLasting:
                shard.noteDamage("account", of: user)
                done(nil)
            case .failure(let failure): done(failure)
            case .success(let value):
                if let words = value.array, words.count > 2, words[0].string == "OK", let body = words[1].bytes,
                    let version = words[2].int
                {
                    take(version, body, of: user)
                }
                done(nil)
            }
        }
    }

    private func take(_ version: Int64, _ account: [UInt8], of user: UserID) {
        guard let local = shard.sessions.users[user], version > held[user]?.version ?? 0 else { return }
        var json = Array(#"{"type":"ownAccount","account":"#.utf8)
        json += account
        json += Array(#","version":\#(version)}"#.utf8)
        held[user] = Held(version: version, frame: WebSocketFrame.text(json))
        for session in local.sessions { mark(session) }
    }

    private func mark(_ session: Session) {
        guard let connection = session.connection, connection.isGreeted else { return }
        connection.ownMessages.insert(message)
        shard.watchers.markMail(connection)
    }
}
