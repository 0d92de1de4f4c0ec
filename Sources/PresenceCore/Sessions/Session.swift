import PresenceProtocol

/// One device of a user, from its `connect` until it is gone for good: it may outlive its connection by `linger`.
package final class Session {
    /// Unique among the shard's; deadlines name it.
    package let number: UInt64
    /// What Redis and the client call it.
    package let id: String
    package let user: LocalUser
    package let device: Device?
    /// When its `connect` came, on the monotonic clock. No two of one device have the same.
    package internal(set) var began: Milliseconds
    /// When anything was last received from it.
    package internal(set) var lastHeard: Milliseconds
    package internal(set) var activity: Activity
    /// `nil` while it lingers.
    package var connection: Connection?
    /// When its token was issued; 0 if that does not say.
    var issuedAt: Timestamp
    /// When Redis let it in by this token, by Redis' clock; `nil`: it goes on by another token since.
    var letInAt: Timestamp?
    /// What its token was made for, if the server itself issued it: when that ends, the session does.
    var grant: Identifier?
    /// The token was revoked before its `connect` was answered.
    var isRevoked = false
    /// A status that came with `connect` while Redis was out of reach.
    var wantedStatus: StatusChange?
    /// The round of the shard's resynchronisations in which Redis was last told of it; 0 when that failed.
    var assertedRound = 0
    /// Redis has let it in once: until then no request of its connection is handled while Redis can be asked.
    var isAdmitted = false
    /// Redis may hold it: its end has to be told.
    var mayBeStored = false
    /// The state that Redis acknowledged last; `nil` when what it holds is not certain, also while it is being told.
    var storedState: String?
    /// How often Redis has been told: only the answer to the last time says what it holds.
    var tellings = 0
    /// How often telling Redis of it has failed since it last succeeded.
    var failures = 0
    /// The deadline for telling Redis again is set.
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

    /// As Redis keeps it: others see no difference between idle and background.
    package var state: String { activity == .active ? "a" : "i" }
    var deviceField: String { device?.id.map { "=" + $0.string } ?? "-" }
    package var kind: String { (device?.kind ?? .other).rawValue }
}

/// How a connection was closed, by either side.
package struct Closing: Sendable {
    package let code: CloseCode
    /// The server's; empty for a close by the client.
    package let reason: String
}

/// A user who has sessions on this shard, with what they chose as of the last time that Redis said so.
package final class LocalUser {
    package let id: UserID
    package let keys: PartitionKeys
    package let partition: Int
    package var sessions: [Session] = []
    /// `nil` until Redis has answered once.
    package var chosen: Chosen?
    /// Tokens issued before it are worthless, as far as Redis has said.
    var revokedAt: Timestamp = 0
    /// A script has told it: what comes later, events tell.
    var isRevocationKnown = false
    /// How far the clock that their record goes by is ahead of ours, as of its last answer. In a cluster each master has
    /// its own.
    var redisOffset: Milliseconds = 0
    /// When the end of what is chosen is looked for; an entry that comes earlier was replaced by this one.
    var nextLook = Milliseconds.max

    package init(id: UserID, partitions: Partitions) {
        self.id = id
        partition = partitions.index(of: id)
        keys = partitions.keys(partition)
    }

    package struct Chosen: Equatable {
        package var status: ChosenStatus
        /// As an encoded JSON string.
        var text: String?
        var clearAt: Timestamp?
        package var version: Int64
    }

    var userKey: String { keys.user(id) }
    var sessionsKey: String { keys.sessions(id) }
}

extension LocalUser.Chosen {
    /// The text as people read it.
    var plainText: String? {
        guard var text else { return nil }
        return text.withUTF8 { utf8 in
            var scanner = JSONScanner(UnsafeRawBufferPointer(utf8))
            return (try? scanner.value())?.string
        }
    }
}
