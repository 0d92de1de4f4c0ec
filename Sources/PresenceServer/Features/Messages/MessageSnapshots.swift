import PresenceCore
import PresenceProtocol
import Redis

/// The messages that a connection receives when it begins to watch a conversation.
struct MessageSnapshot {
    /// The last change in the snapshot: events follow from the next one.
    let through: Int64
    /// The client's copy is replaced.
    let resets: Bool
    let first: Int64
    let last: Int64
    let messages: [StoredMessage]

    /// From the reply of `catch-up.lua`; `nil` for anything else.
    init?(_ value: RedisValue) {
        guard let words = value.array, words.count >= 6, words[0].string == "OK", let through = words[1].int,
            let first = words[3].int, let last = words[4].int
        else { return nil }
        (self.through, resets, self.first, self.last) = (through, words[2].string == "1", first, last)
        messages = words[6...].compactMap { $0.bytes.flatMap { StoredMessage($0) } }
    }

    /// The objects of the answer; more than one if it is long.
    ///
    /// - Parameters:
    ///   - head: the object up to its messages, without its closing brace.
    ///   - limit: the longest object in bytes, unless a single message is longer.
    func objects(_ head: [UInt8], limit: Int) -> [[UInt8]] {
        // The members beside the messages are shorter than 160 bytes.
        StoredMessage.batches(messages, bytes: limit - head.count - 160).enumerated().map { index, batch in
            var object = head
            JSONWriter.member("messagesVersion", through, to: &object)
            if resets, index == 0 { JSONWriter.raw(",\"reset\":true", to: &object) }
            JSONWriter.raw(",\"messages\":[", to: &object)
            object += batch
            JSONWriter.raw("]", to: &object)
            JSONWriter.member("first", first, to: &object)
            JSONWriter.member("last", last, to: &object)
            JSONWriter.raw("}", to: &object)
            return object
        }
    }
}

extension Messages {
    /// The most messages of one conversation, and the most bytes of a request, that the answer contains. The rest
    /// follows as events.
    private static let mostMessages = 1_000
    private static let mostBytes = 2 << 20
    private static let leastBytes = 16 << 10
    private static let window = 16

    /// Reads, for some conversations, the messages that a user's client does not have.
    func snapshots(
        _ wanted: [ConversationID: ClientMessage.MessageCursor], for user: UserID
    ) async throws(Watching.Obstacle) -> [ConversationID: MessageSnapshot] {
        var snapshots: [ConversationID: MessageSnapshot] = [:]
        let bytes = max(Self.leastBytes, Self.mostBytes / max(1, wanted.count))
        try await shard.tasks.each(wanted.sorted { $0.key < $1.key }, window: Self.window) {
            [self] (entry) throws(Watching.Obstacle) in
            guard shard.link.isLive, !shard.isStoreFull() else { throw .unreachable }
            let (id, cursor) = entry
            let keys = shard.partitions.keys(of: id)
            let call = ScriptCall(
                .catchUp, in: keys,
                ["conversation": keys.conversation(id), "log": keys.log(id), "changes": keys.changes(id)],
                [
                    "user": user, "start": cursor.after, "lastKnown": cursor.messagesVersion,
                    "mostMessages": Self.mostMessages, "mostBytes": bytes,
                ])
            let reply: ScriptReply
            do throws(RedisFailure) {
                reply = try await shard.reply(to: call)
            } catch {
                if error.isLasting { shard.recordDamage("conversation", of: id) }
                throw error.isLasting ? .damaged : .unreachable
            }
            if reply.word == "FORBIDDEN" { throw .forbidden }
            guard let snapshot = MessageSnapshot(reply.value) else { throw .unreachable }
            snapshots[id] = snapshot
        }
        return snapshots
    }
}
