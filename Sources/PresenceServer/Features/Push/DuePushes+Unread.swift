import PresenceCore
import PresenceProtocol
import Redis

/// The messages that a push may contain.
extension DuePushes {
    /// The most messages that are searched for one that is not deleted.
    private static let mostLooked: Int64 = 200

    /// The newest unread message that is neither deleted nor from a user whom the member has blocked. It is never the
    /// member's own: a member's message counts as read, and so does every earlier one.
    ///
    /// - Parameter last: The newest message to consider; `nil`: the conversation's newest.
    func newestUnread(
        by member: ConversationRecord.Member, in record: ConversationRecord, upTo last: Int64? = nil
    ) async throws(RedisFailure) -> StoredMessage? {
        let last = min(last ?? record.last, record.last)
        guard isUnread(last, by: member), let newest = record.message else { return nil }
        let blocks = shard.partitions.keys(of: member.user).blocks(member.user)
        let isBlocked = try await shard.command(["SISMEMBER", blocks, newest.from]).int != 0
        if newest.seq == last, newest.deletedAt == 0, !isBlocked { return newest }
        let blocked = Set((try await shard.command(["SMEMBERS", blocks]).array ?? []).compactMap(\.string))
        let members = record.members.map(\.user.string).filter(blocked.contains)
        let reply = try await readNewest(from: max(member.read, member.own), upTo: last, in: record.id, except: members)
        return reply[0].bytes.flatMap { StoredMessage($0) }
    }

    /// Whether a message is known to be deleted. One that is no longer kept, or damaged, is not known to be.
    func isDeleted(_ seq: Int64, in id: ConversationID) async throws(RedisFailure) -> Bool {
        try await readNewest(from: seq - 1, upTo: seq, in: id, except: []).word == "DELETED"
    }

    private func readNewest(
        from read: Int64, upTo last: Int64, in id: ConversationID, except blocked: [String]
    ) async throws(RedisFailure) -> ScriptReply {
        let keys = shard.partitions.keys(of: id)
        return try await shard.reply(
            to: ScriptCall(
                .pushMessage, in: nil, ["conversation": keys.conversation(id), "log": keys.log(id)],
                ["readTo": read, "most": Self.mostLooked, "newest": last], each: blocked))
    }
}
