import PresenceCore
import PresenceProtocol
import Redis

/// Something of a user's own, such as the account, of which the user's sessions get the newest state: after `connected`, and at
/// each change.
///
/// It holds one state for each user with a session on this shard, and reads it at the first connect and after a break.
final class OwnState {
    struct Held {
        let version: Int64
        /// The framed message.
        let frame: [UInt8]
        /// Whether clients assume this state until they get another. It is sent only in place of another one.
        var isInitial = false
    }

    private unowned let shard: ShardLogic
    /// Its name in logs of damaged records.
    private let name: String
    private let read: (UserID) async throws(RedisFailure) -> Held?
    private var message: OwnMessages = []
    private var held: [UserID: Held] = [:]
    /// Users whose state is being read, and whether it has changed since.
    private var reading: [UserID: Bool] = [:]
    /// Users whose state could not be read.
    private var missed: Set<UserID> = []
    private var deadline: DeadlineKind!
    /// The delay before the missed ones are read again, in ms.
    private static let pause: Milliseconds = 1_000
    private static let window = 256

    /// - Parameter read: Reads the state in Redis; `nil` if there is none.
    init(_ shard: ShardLogic, _ name: String, read: @escaping (UserID) async throws(RedisFailure) -> Held?) {
        (self.shard, self.name, self.read) = (shard, name, read)
    }

    func register(in registry: inout Registry) {
        message = registry.ownMessage { [unowned self] connection in
            connection.session.flatMap { held[$0.user.id]?.frame } ?? []
        }
        deadline = registry.deadline { [unowned self] _ in readMissed() }
        registry.sessionEnded.append { [unowned self] in ended($0) }
    }

    func greeted(_ session: Session) {
        guard let held = held[session.user.id] else { return readSoon(session.user.id) }
        if !held.isInitial { session.connection.map(mark) }
    }

    private func ended(_ session: Session) {
        guard session.user.sessions.allSatisfy({ $0 === session }) else { return }
        held[session.user.id] = nil
        missed.remove(session.user.id)
    }

    /// It has changed: it is read if the user has a session here.
    func changed(of user: UserID) {
        guard shard.sessions.users[user] != nil else { return }
        if reading[user] != nil { reading[user] = true } else { readSoon(user) }
    }

    /// It has changed to this state.
    func changed(to state: Held, of user: UserID) {
        guard state.version > held[user]?.version ?? 0 else { return }
        if reading[user] != nil { reading[user] = true }
        apply(state, of: user)
    }

    /// Reads the missed ones, when the shard becomes live and after a pause.
    func readMissed() {
        guard shard.link.isLive else { return }
        let users = Array(missed)
        missed = []
        shard.tasks.run { [self] in
            await shard.tasks.each(users, window: Self.window) { [self] in await readOrMiss($0) }
        }
    }

    private func readSoon(_ user: UserID) { shard.tasks.run { [self] in await readOrMiss(user) } }

    private func readOrMiss(_ user: UserID) async {
        do throws(RedisFailure) {
            // The resynchronisation may already have passed this user.
            guard shard.link.isLive else { throw .disconnected(sent: false) }
            try await update(user)
        } catch {
            guard shard.sessions.users[user] != nil else { return }
            if missed.isEmpty { shard.deadlines.set(deadline, .none, at: shard.clock.now + Self.pause) }
            missed.insert(user)
        }
    }

    /// Reads all again, because changes may have been missed.
    func readAgain() async throws(RedisFailure) {
        reading = [:]
        try await shard.tasks.each(Array(shard.sessions.users.keys), window: Self.window) {
            [self] (user) throws(RedisFailure) in try await update(user)
        }
    }

    /// Reads one, and once more if it has changed meanwhile.
    private func update(_ user: UserID) async throws(RedisFailure) {
        guard reading[user] == nil else { return reading[user] = true }
        repeat {
            reading[user] = false
            do throws(RedisFailure) {
                let state = try await read(user)
                if reading[user] != true, let state { apply(state, of: user) }
            } catch {
                reading[user] = nil
                // A damaged record must not keep the whole shard stale.
                guard error.isLasting else { throw error }
                shard.recordDamage(name, of: user)
            }
        } while reading[user] == true
        reading[user] = nil
    }

    private func apply(_ state: Held, of user: UserID) {
        guard let local = shard.sessions.users[user] else { return }
        let before = held[user]
        // Most users have the initial state all the time.
        if state.isInitial, before == nil { return }
        // Redis may have lost the newest changes: then the version is lower.
        guard state.version != before?.version else { return }
        held[user] = state
        if state.isInitial, before?.isInitial == true { return }
        for session in local.sessions { session.connection.map(mark) }
    }

    private func mark(_ connection: Connection) {
        if connection.isGreeted { shard.watchers.markMail(connection, message) }
    }
}
