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
    let told: Int64
    let toldAt: Timestamp
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
        (record, toldAt) = (reply[0].string ?? "", reply[2].int ?? 0)
        isHeld = seq > 0 && toldAt == 0
        told = isHeld ? 0 : seq
        (isDue, hasSession, isActive, isRegistered) = (isSet(3), isSet(4), isSet(5), isSet(6))
        settings = NotificationSettings(stored: reply[7].string ?? "")
        (isBusy, now) = (isSet(8), reply[9].int ?? 0)
        blocked = Set(reply.rest.dropFirst(10).compactMap(\.string))
    }
}

extension DuePushes {
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
