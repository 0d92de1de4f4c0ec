import PresenceProtocol

/// One device of a user, from its `connect` until its end: it may outlive its connection by `linger`.
package final class Session {
    /// Unique within the shard; deadlines refer to it.
    package let number: UInt64
    /// Its identifier in Redis and for the client.
    package let id: String
    package let user: LocalUser
    package let device: Device?
    /// When `connect` was received, on the monotonic clock. Unique among the sessions of one device.
    package internal(set) var began: Milliseconds
    /// When anything was last received from the client.
    package internal(set) var lastHeard: Milliseconds
    package internal(set) var activity: Activity
    /// `nil` while it lingers.
    package var connection: Connection?
    /// When its token was issued; 0 if the token does not have this time.
    var issuedAt: Timestamp
    /// When Redis admitted it with this token, by Redis' clock; `nil` after a refresh.
    var letInAt: Timestamp?
    /// The grant of its token, if the server itself issued it. The session ends when the grant does.
    var grant: Identifier?
    /// The token was revoked before the reply to `connect`.
    var isRevoked = false
    /// The user was banned before the reply to `connect`.
    var ban: Ban?
    /// A status sent with `connect` while Redis was unreachable.
    var wantedStatus: StatusChange?
    /// The round of resynchronisation in which it was last asserted to Redis; 0 if that failed.
    var assertedRound = 0
    /// Redis has admitted it once. Before that, while Redis is reachable, its connection's requests wait.
    var isAdmitted = false
    /// Redis may have it, so its end must be reported.
    var mayBeStored = false
    /// The state that Redis last acknowledged; `nil` while the state in Redis is uncertain, also during an assertion.
    var storedState: String?
    /// The number of assertions: only the reply to the last one shows what Redis has.
    var reports = 0
    /// Failed assertions since the last success.
    var failures = 0
    /// The deadline for the next assertion is set.
    var isToBeTold = false
    var hasEnded = false
    /// The first close of its connection, or the reason why it ended without one; `nil` while it is connected.
    package internal(set) var closing: Closing?

    package init(
        number: UInt64, id: String, user: LocalUser, device: Device?, activity: Activity, connection: Connection?,
        issuedAt: Timestamp, grant: Identifier? = nil, now: Milliseconds
    ) {
        self.number = number
        self.id = id
        self.user = user
        self.device = device
        self.activity = activity
        self.connection = connection
        self.issuedAt = issuedAt
        self.grant = grant
        began = now
        lastHeard = now
    }

    /// The state as Redis keeps it: to others, idle and background look the same.
    package var state: String { activity == .active ? "a" : "i" }
    var deviceField: String { device?.id.map { "=" + $0.string } ?? "-" }
    package var kind: String { (device?.kind ?? .other).rawValue }
}

/// How a connection was closed, by either side.
package struct Closing: Sendable {
    package let code: CloseCode
    /// The server's reason; empty for a close by the client.
    package let reason: String
}

/// A user with sessions on this shard, and their chosen status as last received from Redis.
package final class LocalUser {
    package let id: UserID
    package let keys: PartitionKeys
    package let partition: Int
    package var sessions: [Session] = []
    /// `nil` until the first reply from Redis.
    package var chosen: Chosen?
    /// Tokens issued before this are invalid, as far as is known here.
    var revokedAt: Timestamp = 0
    /// A script's reply had `revokedAt`: from then on events keep it current.
    var isRevocationKnown = false
    /// How far the clock of the user's master is ahead of the local one, as of its last reply. In a cluster each master
    /// has a clock of its own.
    var redisOffset: Milliseconds = 0
    /// When the chosen status is next checked for its end; an earlier deadline is outdated.
    var nextLook = Milliseconds.max

    package init(id: UserID, partitions: Partitions) {
        self.id = id
        partition = partitions.index(of: id)
        keys = partitions.keys(partition)
    }

    package struct Chosen: Equatable {
        package var status: ChosenStatus
        /// The text, as an encoded JSON string.
        var text: String?
        var clearAt: Timestamp?
        package var version: Int64
    }

    var userKey: String { keys.user(id) }
    var sessionsKey: String { keys.sessions(id) }
}

extension LocalUser.Chosen {
    /// The text, decoded.
    var plainText: String? {
        guard var text else { return nil }
        return text.withUTF8 { utf8 in
            var scanner = JSONScanner(UnsafeRawBufferPointer(utf8))
            return (try? scanner.value())?.string
        }
    }
}
