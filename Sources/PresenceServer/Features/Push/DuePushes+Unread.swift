import PresenceCore
import PresenceProtocol
import Redis

/// The messages that a push may tell.
extension DuePushes {
    /// Messages among which one that is not deleted is looked for.
    private static let mostLooked: Int64 = 200

    /// That is not deleted, nor of somebody whom they have blocked; `nil` if there is none. It is not their own: what is older
    /// than one of theirs counts as read.
    ///
    /// - Parameter last: The newest that is looked at; `nil`: that of the conversation.
    func newestUnread(
        by member: ConversationRecord.Member, in record: ConversationRecord, upTo last: Int64? = nil,
        found: @escaping (Result<StoredMessage?, RedisFailure>) -> Void
    ) {
        let last = min(last ?? record.last, record.last)
        guard isUnread(last, by: member), let newest = record.message else { return found(.success(nil)) }
        let blocks = shard.partitions.keys(of: member.user).blocks(member.user)
        shard.store.command(["SISMEMBER", blocks, newest.from], lane: .commands) { [self] result in
            guard case .success(let value) = result else { return found(.failure(result.failure!)) }
            if newest.seq == last, newest.deletedAt == 0, value.int == 0 { return found(.success(newest)) }
            shard.store.command(["SMEMBERS", blocks], lane: .commands) { [self] result in
                guard case .success(let value) = result else { return found(.failure(result.failure!)) }
                let blocked = Set((value.array ?? []).compactMap(\.string))
                let members = record.members.map(\.user.string).filter(blocked.contains)
                look(from: max(member.read, member.own), upTo: last, in: record.id, except: members) { result in
                    found(result.map { $0.bytes.flatMap { StoredMessage($0) } })
                }
            }
        }
    }

    /// Whether a message is known to be deleted. It is not of one that is not kept any more, or damaged.
    func isDeleted(
        _ seq: Int64, in id: ConversationID, found: @escaping (Result<Bool, RedisFailure>) -> Void
    ) {
        look(from: seq - 1, upTo: seq, in: id, except: []) { result in found(result.map { $0.int == 1 }) }
    }

    private func look(
        from read: Int64, upTo last: Int64, in id: ConversationID, except blocked: [String],
        _ found: @escaping StoreReply
    ) {
        let keys = shard.partitions.keys(of: id)
        shard.store.run(
            .pushMessage, keys: [keys.conversation(id), keys.log(id)],
            arguments: [String(read), String(Self.mostLooked), String(last)] + blocked, lane: .commands,
            reply: found)
    }
}
