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

    enum SnapshotOutcome {
        case read([ConversationID: MessageSnapshot])
        case forbidden
        case failed
        /// One of the conversations cannot be read.
        case damaged
    }

    /// Reads, for some conversations, the messages that a user's client does not have.
    func snapshots(
        _ wanted: [ConversationID: ClientMessage.MessageCursor], for user: UserID,
        done: @escaping (SnapshotOutcome) -> Void
    ) {
        guard !wanted.isEmpty else { return done(.read([:])) }
        var snapshots: [ConversationID: MessageSnapshot] = [:]
        var refusal: SnapshotOutcome?
        let bytes = max(Self.leastBytes, Self.mostBytes / wanted.count)
        BoundedConcurrency(wanted.sorted { $0.key < $1.key }, window: Self.window) { [self] entry, next in
            guard refusal == nil, shard.link.isLive, !shard.isStoreFull() else {
                refusal = refusal ?? .failed
                return next()
            }
            let (id, cursor) = entry
            let keys = shard.partitions.keys(of: id)
            let call = ScriptCall(
                .catchUp, in: keys,
                ["conversation": keys.conversation(id), "log": keys.log(id), "changes": keys.changes(id)],
                [
                    "user": user, "start": cursor.after, "lastKnown": cursor.messagesVersion,
                    "mostMessages": Self.mostMessages, "mostBytes": bytes,
                ])
            shard.run(call) { [unowned shard] result in
                if result.failure?.isLasting == true {
                    shard.recordDamage("conversation", of: id)
                    refusal = .damaged
                } else if case .success(let value) = result, let snapshot = MessageSnapshot(value) {
                    snapshots[id] = snapshot
                } else if case .success(let value) = result, value.array?.first?.string == "FORBIDDEN" {
                    refusal = .forbidden
                } else {
                    refusal = .failed
                }
                next()
            }
        } done: {
            done(refusal ?? .read(snapshots))
        }
    }
}
