import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Sends a user's account to the user's own sessions: after `connected`, and at each change. Only the newest version is sent.
///
/// It stores one account for each user of this shard who has an account.
final class OwnAccounts {
    private unowned let shard: ShardLogic
    private var message: OwnMessages = []
    private var held: [UserID: Held] = [:]
    /// Users whose account is being read.
    private var asked: Set<UserID> = []
    /// Users whose account could not be read when they connected.
    private var missed: Set<UserID> = []
    private var deadline: DeadlineKind!
    /// The delay before the missed accounts are read again, in ms.
    private static let pause: Milliseconds = 1_000

    private struct Held {
        let version: Int64
        /// The framed message.
        let frame: [UInt8]
    }

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        message = registry.ownMessage { [unowned self] connection in
            connection.session.flatMap { held[$0.user.id]?.frame } ?? []
        }
        registry.event("A", offers: true) { [unowned self] event in
            guard let user = event.subject, shard.sessions.users[user] != nil else { return }
            apply(event.version, Array(event.rest), of: user)
        }
        deadline = registry.deadline { [unowned self] _ in readMissed() }
    }

    func greeted(_ session: Session) {
        guard held[session.user.id] == nil else { return mark(session) }
        readNow(session.user.id) {}
    }

    func ended(_ session: Session) {
        guard session.user.sessions.allSatisfy({ $0 === session }) else { return }
        held[session.user.id] = nil
        missed.remove(session.user.id)
    }

    /// Reads the missed accounts, when the shard becomes live and after a pause.
    func readMissed() {
        guard shard.link.isLive else { return }
        let users = Array(missed)
        missed = []
        BoundedConcurrency(users, window: 256) { [self] user, next in
            guard shard.sessions.users[user] != nil, held[user] == nil else { return next() }
            readNow(user, done: next)
        } done: {
        }
    }

    private func readNow(_ user: UserID, done: @escaping () -> Void) {
        // The resynchronisation may already have passed this user.
        guard shard.link.isLive else {
            missed.insert(user)
            return done()
        }
        read(user) { [self] failure in
            if failure != nil, shard.sessions.users[user] != nil {
                if missed.isEmpty { shard.deadlines.set(deadline, .none, at: shard.clock.now + Self.pause) }
                missed.insert(user)
            }
            done()
        }
    }

    /// Reads all accounts again, because events may have been missed.
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
        shard.run(.account(of: user, in: shard.partitions)) { [self] result in
            asked.remove(user)
            switch result {
            // A damaged account must not keep the whole shard stale.
            case .failure(let failure) where failure.isLasting:
                shard.recordDamage("account", of: user)
                done(nil)
            case .failure(let failure): done(failure)
            case .success(let value):
                let reply = ScriptReply(value)
                if reply.word == "OK", let body = reply[0].bytes, let version = reply[1].int {
                    apply(version, body, of: user)
                }
                done(nil)
            }
        }
    }

    private func apply(_ version: Int64, _ account: [UInt8], of user: UserID) {
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
