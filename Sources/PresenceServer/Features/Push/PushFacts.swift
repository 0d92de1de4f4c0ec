import PresenceCore
import PresenceProtocol
import Redis

/// A conversation of a user, or a notification.
struct PushPlace {
    let user: UserID
    /// The name of a notification is `#SEQ.TAG`. No conversation has such an id: servers make them.
    let conversation: ConversationID

    /// The place of all that is held for a user.
    static let summary = "~"
    var isSummary: Bool { conversation.string == Self.summary }

    /// `nil` for a conversation.
    var notification: (seq: Int64, tag: String)? {
        let words = conversation.string.split(separator: ".", maxSplits: 1)
        guard words.count == 2, words[0].first == "#", let seq = Int64(words[0].dropFirst()) else { return nil }
        return (seq, String(words[1]))
    }

    init?(user: some StringProtocol, conversation: some StringProtocol) {
        guard let user = UserID(String(user)), let id = ConversationID(String(conversation)) else { return nil }
        (self.user, self.conversation) = (user, id)
    }
}

/// The facts in the user's partition that a push rests on, read in one step (`push-facts.lua`).
struct PushFacts {
    /// As scripts compare it.
    let record: String
    /// The message of the last push that counts, and the time of that; 0: none counts.
    let lastPushed: Int64
    let lastPushedAt: Timestamp
    /// Whether the push of a message is held.
    let isHeld: Bool
    /// Whether a decision is due.
    let isDue: Bool
    let hasSession: Bool
    let isActive: Bool
    /// Whether the device in question may be pushed to.
    let isRegistered: Bool
    let settings: NotificationSettings
    let isBusy: Bool
    /// When they were read, by Redis' clock.
    let now: Timestamp
    /// The users whom the user blocks.
    let blocked: Set<String>

    init(_ reply: ScriptReply) {
        func isSet(_ place: Int) -> Bool { reply[place].int == 1 }
        let seq = reply[1].int ?? 0
        (record, lastPushedAt) = (reply[0].string ?? "", reply[2].int ?? 0)
        isHeld = seq > 0 && lastPushedAt == 0
        lastPushed = isHeld ? 0 : seq
        (isDue, hasSession, isActive, isRegistered) = (isSet(3), isSet(4), isSet(5), isSet(6))
        settings = NotificationSettings(stored: reply[7].string ?? "")
        (isBusy, now) = (isSet(8), reply[9].int ?? 0)
        blocked = Set(reply.rest.dropFirst(10).compactMap(\.string))
    }
}

extension PushScheduler {
    /// ms after which a connection that is broken now is known to be, and its session has ended: until then a session that counts as
    /// active shows nothing certain of its user. With a second for clocks.
    var doubt: Milliseconds {
        let configuration = shard.configuration
        return configuration.heartbeat.interval + configuration.heartbeat.timeout + configuration.linger + 1_000
    }

    /// The rest of a time since a message. A message from the future was sent before the clock was set back.
    static func rest(of wait: Milliseconds, since start: Timestamp, at time: Timestamp) -> Milliseconds {
        start > time + 60_000 ? 0 : max(0, start + wait - time)
    }

    /// Whether messages become notifications.
    var isNoticed: Bool { shard.configuration[Notifications.ofMessages] }

    func wantsPushes(_ member: ConversationRecord.Member) -> Bool {
        let isMuted = member.muted == -1 || member.muted > shard.clock.redisNow
        // A stranger whom the user has not answered does not make their devices ring.
        return !isMuted && member.archived == 0 && !member.isAsked
    }

    /// Runs a script about a user. A damaged record must not keep others of its partition from their pushes: there is no reply.
    func run(_ call: ScriptCall, of user: UserID) async throws(RedisFailure) -> ScriptReply? {
        do throws(RedisFailure) {
            return try await shard.reply(to: call)
        } catch {
            let failure = complaint("push", of: user, error)
            guard failure.isLasting else { throw failure }
            return nil
        }
    }

    /// A failure that is in the log from now on.
    func complaint(_ what: String, of id: Identifier, _ failure: RedisFailure) -> RedisFailure {
        if failure.isLasting {
            shard.recordDamage(what, of: id)
        } else {
            courier?.complain(of: shard.partitions.index(of: id), failure)
        }
        return failure
    }

    /// The most messages that are searched for one that is not deleted.
    private static let mostLooked: Int64 = 200

    /// - Parameter token: That of the device in question, as JSON.
    /// - Returns: `nil` if a record of the user is damaged.
    func facts(
        of place: PushPlace, token: String = "", platform: String = ""
    ) async throws(RedisFailure) -> PushFacts? {
        let (user, keys) = (place.user, shard.partitions.keys(of: place.user))
        let call = ScriptCall(
            .pushFacts, in: nil,
            [
                "push": keys.push, "pushed": keys.pushed(user), "sessions": keys.sessions(user),
                "blocks": keys.blocks(user), "devices": keys.devices(user), "grants": keys.grants(user),
                "user": keys.user(user),
            ],
            [
                "user": user, "conversation": place.conversation, "platform": platform,
                "token": token, "idle": shard.configuration[Accounts.idle],
            ])
        return try await run(call, of: user).map { PushFacts($0) }
    }

    /// A conversation; a damaged one is counted and logged.
    func read(_ id: ConversationID) async throws(RedisFailure) -> ConversationRecord? {
        do throws(RedisFailure) {
            let key = shard.partitions.keys(of: id).conversation(id)
            return ConversationRecord(id, try await shard.command(["HGETALL", key]))
        } catch {
            throw complaint("conversation", of: id, error)
        }
    }

    /// The newest unread message that is neither deleted nor from a user whom the member has blocked. It is never the
    /// member's own: a member's message counts as read, and so does every earlier one.
    ///
    /// - Parameters:
    ///   - last: The newest message to consider; `nil`: the conversation's newest.
    ///   - time: The latest time when it was sent.
    func newestUnread(
        by member: ConversationRecord.Member, in record: ConversationRecord, except blocked: Set<String>,
        upTo last: Int64? = nil, sentBy time: Timestamp = 1 << 53
    ) async throws(RedisFailure) -> StoredMessage? {
        let last = min(last ?? record.last, record.last)
        guard isUnread(last, by: member), let newest = record.message else { return nil }
        if newest.seq == last, newest.deletedAt == 0, newest.at <= time, !blocked.contains(newest.from) {
            return newest
        }
        let members = record.members.map(\.user.string).filter(blocked.contains)
        let reply = try await readNewest(
            from: max(member.read, member.own), upTo: last, sentBy: time, in: record.id, except: members)
        return reply[0].bytes.flatMap { StoredMessage($0) }
    }

    /// Whether a message is known to be deleted. One that is no longer kept, or damaged, is not known to be.
    func isDeleted(_ seq: Int64, in id: ConversationID) async throws(RedisFailure) -> Bool {
        try await readNewest(from: seq - 1, upTo: seq, sentBy: 1 << 53, in: id, except: []).word == "DELETED"
    }

    private func readNewest(
        from read: Int64, upTo last: Int64, sentBy time: Timestamp, in id: ConversationID, except blocked: [String]
    ) async throws(RedisFailure) -> ScriptReply {
        let keys = shard.partitions.keys(of: id)
        return try await shard.reply(
            to: ScriptCall(
                .pushMessage, in: nil, ["conversation": keys.conversation(id), "log": keys.log(id)],
                ["readTo": read, "most": Self.mostLooked, "newest": last, "sentBy": time], each: blocked))
    }

    func isUnread(_ seq: Int64, by member: ConversationRecord.Member) -> Bool { max(member.read, member.own) < seq }
}

extension PushScheduler {
    /// The push to make, if any; and ms for which a session of the user may still get it first. With neither, no push is
    /// needed.
    struct PushNeed {
        enum Subject {
            case message(StoredMessage, ConversationRecord)
            case notification(StoredNotification)
        }
        var subject: Subject?
        var wait: Milliseconds = 0

        var seq: Int64 {
            switch subject {
            case .message(let message, _): message.seq
            case .notification(let notification): notification.seq
            case nil: 0
            }
        }
        /// Only backends set it. Without an urgency of its own, a notification is as urgent as a message.
        var isUrgent: Bool { if case .notification(let one) = subject { one.urgency == .high } else { false } }
    }

    /// The contents of the push and its number, if there is a push; the need's `wait`; and whether the push is held, or not wanted.
    typealias Decision = (contents: [UInt8], seq: Int64, wait: Milliseconds, hold: Hold)

    enum Hold {
        case no, until(Timestamp)
        /// The user wants no pushes of such messages: only the list of notifications gets it.
        case never

        var argument: String {
            switch self {
            case .no: ""
            case .until(let time): String(time)
            case .never: "never"
            }
        }
    }
}
