import EventLoops
import PresenceCore
import PresenceProtocol

/// The newest ends of sessions, in memory: those on the shards of one server, and those of dead servers that these shards reaped.
/// A user's page in the console reads them to explain why the user is offline.
final class SessionEnds: Sendable {
    private struct State {
        /// When the first shard became live.
        var since: Timestamp?
        var users: [UserID] = []
        /// By user, the oldest first, encoded.
        var ends: [UserID: [String]] = [:]
    }
    private let state = Locked(State())
    private let most: Int

    /// The most ends that are kept of one user.
    static let mostShown = 20

    /// - Parameter most: The most ends that are kept; 20,000 have some 5 MB. Beyond this number the oldest quarter is
    ///   dropped.
    init(most: Int = 20_000) { self.most = most }

    func begin(at now: Timestamp) { state.withLock { $0.since = $0.since ?? now } }

    func record(_ json: String, of user: UserID) {
        state.withLock { [most] state in
            state.ends[user, default: []].append(json)
            // A client that reconnects in a loop does not displace the ends of others.
            guard state.ends[user, default: []].count <= Self.mostShown else {
                state.ends[user]?.removeFirst()
                return
            }
            state.users.append(user)
            guard state.users.count > most else { return }
            for old in state.users.prefix(most / 4) {
                state.ends[old]?.removeFirst()
                if state.ends[old]?.isEmpty ?? false { state.ends[old] = nil }
            }
            state.users.removeFirst(most / 4)
        }
    }

    /// The ends of a user's sessions, the oldest first, and the time since which they are noted.
    func read(_ user: UserID) -> (ends: [String], since: Timestamp?) {
        state.withLock { ($0.ends[user] ?? [], $0.since) }
    }
}

extension Console {
    func record(_ session: Session) {
        let now = shard.clock.now
        let time = shard.sessions.redisNow(for: session.user)
        let device = session.device?.id.map { #""device":\#(JSONWriter.encoded($0.string)),"# } ?? ""
        let json =
            #"{"id":\#(JSONWriter.encoded(session.id)),"kind":"\#(session.kind)",\#(device)"#
            + #""since":\#(time - (now - session.began)),"heardAt":\#(time - (now - session.lastHeard)),"#
            + #""endedAt":\#(time),"how":"\#(Self.how(session.closing))"}"#
        state.ends.record(json, of: session.user.id)
    }

    func reaped(_ users: [UserID], of incarnation: String, renewedAt: Timestamp) {
        guard shard.configuration[Console.enabled] else { return }
        let json =
            #"{"heardAt":\#(renewedAt),"endedAt":\#(shard.clock.redisNow),"how":"serverDied","#
            + #""server":\#(JSONWriter.encoded(incarnation))}"#
        for user in users { state.ends.record(json, of: user) }
    }

    /// docs/openapi.yaml has the meaning of each word.
    static func how(_ closing: Closing?) -> String {
        guard let closing else { return "refused" }
        switch closing.code.rawValue {
        case 1000, 1005: return "closed"
        // Only a close by the server has a reason.
        case 1001: return closing.reason.isEmpty ? "left" : "silent"
        case 1006: return "lost"
        case 1012: return "restarted"
        case 4001: return "revoked"
        case 4002: return "expired"
        case 4003: return "banned"
        case 4004: return "replaced"
        case 4005: return "slow"
        case 4006: return "disconnected"
        default: return "refused"
        }
    }
}
