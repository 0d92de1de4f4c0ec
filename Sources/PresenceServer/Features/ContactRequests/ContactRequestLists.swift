import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Sends the open requests to a user's own sessions: after `connected`, if there are any, and at each change. Only the newest
/// list is sent.
///
/// The event of a change has no list: few shards have a session of the user, and those read it.
final class ContactRequestLists {
    /// Open requests to one user. With the longest names and texts they fit into one message of the default length.
    static let most = 100

    private unowned let shard: ShardLogic
    private var message: OwnMessages = []
    private var held: [UserID: Held] = [:]
    /// Users whose list is being read, and whether it has changed since.
    private var asked: [UserID: Bool] = [:]
    /// Users whose list could not be read.
    private var missed: Set<UserID> = []
    private var deadline: DeadlineKind!
    /// The delay before the missed lists are read again, in ms.
    private static let pause: Milliseconds = 1_000
    /// An upper bound for the message without its list, in bytes.
    private static let overhead = 256

    private struct Held {
        let version: Int64
        let isEmpty: Bool
        /// The framed message.
        let frame: [UInt8]
    }

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        message = registry.ownMessage { [unowned self] connection in
            connection.session.flatMap { held[$0.user.id]?.frame } ?? []
        }
        registry.event("J") { [unowned self] event in
            guard let user = event.subject, shard.sessions.users[user] != nil else { return }
            if asked[user] != nil { asked[user] = true } else { readNow(user) {} }
        }
        deadline = registry.deadline { [unowned self] _ in readMissed() }
    }

    func greeted(_ session: Session) {
        guard let held = held[session.user.id] else { return readNow(session.user.id) {} }
        if !held.isEmpty { mark(session) }
    }

    func ended(_ session: Session) {
        guard session.user.sessions.allSatisfy({ $0 === session }) else { return }
        held[session.user.id] = nil
        missed.remove(session.user.id)
    }

    /// Reads the missed lists, when the shard becomes live and after a pause.
    func readMissed() {
        guard shard.link.isLive else { return }
        let users = Array(missed)
        missed = []
        BoundedConcurrency(users, window: 256) { [self] user, next in
            guard shard.sessions.users[user] != nil else { return next() }
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

    /// Reads all lists again, because events may have been missed.
    func reload(_ done: @escaping (RedisFailure?) -> Void) {
        asked = [:]
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
        guard asked[user] == nil else {
            asked[user] = true
            return done(nil)
        }
        asked[user] = false
        let key = shard.partitions.keys(of: user).asked(user)
        shard.store.command(["HGETALL", key], lane: .commands) { [self] result in
            let isChanged = asked.removeValue(forKey: user) == true
            switch result {
            // A damaged record must not keep the whole shard stale.
            case .failure(let failure) where failure.isLasting:
                shard.recordDamage("asked", of: user)
                return done(nil)
            case .failure(let failure): return done(failure)
            case .success(let value): apply(OpenContactRequests(value, at: shard.clock.redisNow), of: user)
            }
            if isChanged { read(user, done: done) } else { done(nil) }
        }
    }

    private func apply(_ list: OpenContactRequests, of user: UserID) {
        guard let local = shard.sessions.users[user] else { return }
        let before = held[user]
        // A client begins with no request, and most users have none.
        if list.isEmpty, before == nil { return }
        // Redis may have lost the newest changes: then the version is lower.
        guard list.version != before?.version else { return }
        var json = Array(#"{"type":"contactRequests","#.utf8)
        json += list.member(bytes: shard.configuration.limits.maxServerMessageBytes - Self.overhead)
        JSONWriter.member("version", list.version, to: &json)
        json.append(UInt8(ascii: "}"))
        held[user] = Held(version: list.version, isEmpty: list.isEmpty, frame: WebSocketFrame.text(json))
        if list.isEmpty, before?.isEmpty == true { return }
        for session in local.sessions { mark(session) }
    }

    private func mark(_ session: Session) {
        guard let connection = session.connection, connection.isGreeted else { return }
        connection.ownMessages.insert(message)
        shard.watchers.markMail(connection)
    }
}
