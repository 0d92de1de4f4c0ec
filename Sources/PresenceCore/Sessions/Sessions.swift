import CAssets
import PresenceProtocol
import Redis

/// The sessions of this shard and their users. They are opened, changed and ended here; Redis decides.
///
/// A session whose connection is lost without a close continues for `linger`. If its user returns in time, on any
/// shard, others see no change. While Redis is unreachable, sessions begin and end here, and are reported to Redis
/// afterwards (`Sessions+StoreSync.swift`).
package final class Sessions {
    package unowned let shard: ShardLogic
    package private(set) var users: [UserID: LocalUser] = [:]
    private(set) var byNumber: [UInt64: Session] = [:]
    private var lastNumber: UInt64 = 0
    /// Ended sessions that Redis has yet to acknowledge. Each of them was in Redis, which bounds their number.
    var ended: [UInt64: Session] = [:]
    /// Sessions whose linger ran out while Redis was out of reach.
    var overdue: [UInt64] = []
    /// When a rejection by Redis was last logged.
    var lastComplaint: Milliseconds = -1_000

    package init(_ shard: ShardLogic) { self.shard = shard }

    package var count: Int { byNumber.count }
    var lingering: Int { byNumber.values.count { $0.connection == nil } }

    // MARK: Opening

    /// Opens a session for a `connect` with a valid token. `answer` gets the outcome.
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
        // If two sessions of one device begin in the same ms, the first one stays older, also when both are asserted
        // again.
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
        store(session) { [self] outcome in
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
            case .banned(let ban):
                drop(session)
                answer(.banned(ban))
            case .replaced: shard.close(connection, .replaced)
            case .disconnected: shard.close(connection, .disconnected)
            }
        }
    }

    package enum Opening {
        /// Redis has stored the session, or will receive it later.
        case opened
        case refused(String)
        /// The user has too many connections.
        case crowded
        /// The token has been revoked.
        case revoked
        case banned(Ban)
    }

    /// Redis' answer to the report of a session.
    package enum Outcome {
        case stored
        case unreachable(RedisFailure?)
        case refused(String)
        case crowded
        case revoked
        case banned(Ban)
        case replaced
        case disconnected
    }

    // MARK: Ending

    /// Redis rejected a new session: it is dropped without a report, unless Redis may have it nevertheless.
    func drop(_ session: Session) {
        session.connection?.session = nil
        session.connection = nil
        end(session)
    }

    package func end(_ session: Session) {
        guard !session.hasEnded else { return }
        session.hasEnded = true
        if let connection = session.connection { session.lastHeard = connection.lastHeard }
        for react in shard.registry.sessionEnded { react(session) }
        forget(session)
        guard session.mayBeStored else { return }
        ended[session.number] = session
        if shard.link.isLive { storeEnd(session) {} }
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
        // The user may have left and returned meanwhile: then the record is a newer one.
        guard session.user.sessions.isEmpty, users[session.user.id] === session.user else { return }
        users[session.user.id] = nil
        shard.policies.forgetIfUnused(session.user.id)
    }
}

/// The scripts of this feature.
extension Script {
    package static let open = Script("open", asset_open())
    /// As `open`, but also when Redis' memory is full: an admitted session is kept.
    static let assert = Script("assert", asset_open(), allowsFullMemory: true)
    package static let end = Script("end", asset_end())
    package static let activity = Script("activity", asset_activity())
    static let disconnect = Script("disconnect", asset_disconnect())
    package static let status = Script("status", asset_status(), isAcknowledged: true)
    package static let lapse = Script("lapse", asset_lapse())
    static let revoke = Script("revoke", asset_revoke(), isAcknowledged: true)
}
