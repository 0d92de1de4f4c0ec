import PresenceProtocol
import Redis

/// The sessions of this shard and the users that they belong to: opened, changed and ended here, decided in Redis.
///
/// A session that is lost without a word goes on for `linger`; if its user is back by then, wherever, nobody sees
/// anything. While Redis is out of reach sessions come and go here, and Redis is told afterwards
/// (`Sessions+StoreSync.swift`).
package final class Sessions {
    package unowned let shard: ShardLogic
    package private(set) var users: [UserID: LocalUser] = [:]
    private(set) var byNumber: [UInt64: Session] = [:]
    private var lastNumber: UInt64 = 0
    /// Sessions that have ended, until Redis acknowledges it. Each was in Redis once, so there are no more than that.
    var ended: [UInt64: Session] = [:]
    /// Sessions whose linger ran out while Redis was out of reach.
    var overdue: [UInt64] = []
    /// When the log last said that Redis refuses.
    var lastComplaint: Milliseconds = -1_000

    package init(_ shard: ShardLogic) { self.shard = shard }

    package var count: Int { byNumber.count }
    var lingering: Int { byNumber.values.count { $0.connection == nil } }

    // MARK: Opening

    /// A `connect` whose token is good. `answer` gets what became of it.
    func open(
        _ connection: Connection, user id: UserID, issuedAt: Timestamp, grant: Identifier?,
        connect: ClientMessage.Connect,
        answer: @escaping (Opening) -> Void
    ) {
        let user = users[id] ?? LocalUser(id: id, partitions: shard.partitions)
        users[id] = user
        lastNumber += 1
        let session = Session(
            number: lastNumber, id: shard.randomName(), user: user, device: connect.device,
            activity: connect.activity, connection: connection, issuedAt: issuedAt, grant: grant,
            now: shard.clock.now)
        session.wantedStatus = connect.status
        connection.session = session
        shard.watchers.set(.background, session.activity == .background, on: connection)
        // Of two of one device that come in the same ms the earlier one is older, also when both are told again.
        if let device = connect.device?.id {
            var next = session.began
            for older in user.sessions.reversed() where older.device?.id == device {
                older.began = min(older.began, next - 1)
                next = older.began
            }
        }
        user.sessions.append(session)
        byNumber[session.number] = session
        guard shard.link.isLive else { return answer(.opened) }
        tell(session) { [self] outcome in
            switch outcome {
            case .stored, .unreachable: answer(.opened)
            case .refused(let message):
                drop(session)
                answer(.refused(message))
            case .crowded:
                drop(session)
                answer(.crowded)
            case .revoked:
                drop(session)
                answer(.revoked)
            case .replaced: shard.close(connection, .replaced)
            case .disconnected: shard.close(connection, .disconnected)
            }
        }
    }

    package enum Opening {
        /// Redis has taken it, or will be told later.
        case opened
        case refused(String)
        /// The user has too many connections.
        case crowded
        /// The token is one that has been revoked.
        case revoked
    }

    // MARK: Ending

    /// Redis did not take a new session: it ends without having been, unless Redis may hold it all the same.
    func drop(_ session: Session) {
        session.connection?.session = nil
        session.connection = nil
        end(session)
    }

    package func end(_ session: Session) {
        guard !session.hasEnded else { return }
        session.hasEnded = true
        if let connection = session.connection { session.lastHeard = connection.lastHeard }
        for feature in shard.features { feature.sessionEnded(session) }
        forget(session)
        guard session.mayBeStored else { return }
        ended[session.number] = session
        if shard.link.isLive { tellEnd(session) {} }
    }

    /// Closes its connection with a final code; a session that lingers ends at once.
    func close(_ session: Session, _ code: CloseCode, reason: String = "") {
        if let connection = session.connection { return shard.close(connection, code, reason: reason) }
        session.closing = Closing(code: code, reason: reason)
        end(session)
    }

    private func forget(_ session: Session) {
        byNumber[session.number] = nil
        session.user.sessions.removeAll { $0 === session }
        // Its user may have gone and come again meanwhile: then the record is another's.
        guard session.user.sessions.isEmpty, users[session.user.id] === session.user else { return }
        users[session.user.id] = nil
        shard.policies.forgetIfUnused(session.user.id)
    }
}
