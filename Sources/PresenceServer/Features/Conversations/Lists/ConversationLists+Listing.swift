import PresenceCore
import PresenceProtocol
import Redis

/// The answer to a request for a list.
extension ConversationLists {
    /// The most conversations that are read because the client knows them and the inbox lacks them.
    private static let mostOthers = 100

    /// A list's objects, newest first, without the conversations whose present version the client has.
    func list(of user: UserID, known: [ConversationID: Int64]) async throws(RedisFailure) -> [[UInt8]] {
        let inbox = try await reading.inbox(of: user)
        // The number of conversations is known only now, so the user's next request pays for them.
        shard.userRates.consume(RequestPrice.ids(inbox.conversations.count), by: user, at: shard.clock.now)
        // The user may be a member of a known conversation before the inbox has it.
        let others = Set(known.keys).subtracting(inbox.conversations).sorted().prefix(Self.mostOthers)
        let found = try await reading.read(inbox.conversations + others, of: user)
        // A conversation that cannot be read is not reported as removed, unless the inbox shows that the user left it.
        let there = found.damaged.subtracting(inbox.left.keys).union(found.records.map(\.id))
        // The version is above all versions that the client has received.
        let gone = known.filter { !there.contains($0.key) }.sorted { $0.key < $1.key }.map {
            ConversationRecord.removed($0.key, version: max(inbox.left[$0.key] ?? 0, $0.value + 1))
        }
        let now = shard.clock.redisNow
        for record in found.records { mutes.record(record, of: user) }
        return found.records.sorted { ($0.newest, $0.id) > ($1.newest, $1.id) }
            .filter { known[$0.id] != $0.version(for: user, at: now) }
            .map { $0.json(for: user, at: now) } + gone
    }
}

extension ConversationLists {
    /// A connection that watches its user's list.
    final class Subscriber: OwnSubscriber {
        let connection: Connection
        let user: UserID
        var isReady = false
        var pending: [ConversationID: Pending] = [:]
        /// Size of the frames, which count as data waiting for the connection.
        var bytes = 0 { didSet { outboxes.change(by: bytes - oldValue) } }
        var pace = CrowdPace()
        private let outboxes: Outboxes

        init(_ connection: Connection, _ user: UserID, _ outboxes: Outboxes) {
            self.connection = connection
            self.user = user
            self.outboxes = outboxes
        }

        deinit { outboxes.change(by: -bytes) }

        /// Keeps only the ids.
        func forgetFrames() {
            pending = pending.mapValues { Pending(version: $0.version, frame: nil) }
            bytes = 0
        }
    }

    struct Pending {
        let version: Int64
        /// The whole frame; `nil` if the conversation must be read, or is a crowd.
        let frame: [UInt8]?
        /// A crowd, which is encoded when it is sent.
        var crowd: CrowdPace.Crowd?

        var size: Int { frame?.count ?? crowd?.size ?? 0 }
    }
}
