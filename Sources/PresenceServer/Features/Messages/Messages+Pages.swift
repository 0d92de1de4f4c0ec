import PresenceCore
import PresenceProtocol
import Redis

// Pages of a conversation's messages.
extension Messages {
    /// So many bytes of messages, with their earlier texts, are in a page: 100 of the longest texts.
    private static let mostPageBytes = 3 << 20

    func get(_ request: MessageRequest.Page, _ context: RequestContext) {
        conversations.ask(context, about: request.conversation, changes: false) { [self] done in
            read(request, for: context.user, done: done)
        } succeeded: { [self] words in
            let page = MessagePage(words)
            let limit = shard.configuration.limits.maxServerMessageBytes - 512
            var batches = StoredMessage.batches(page.messages, bytes: limit)
            let end = batches.removeLast()
            for batch in batches { send(batch, of: page, of: request, isLast: false, context) }
            send(end, of: page, of: request, isLast: true, context)
        }
    }

    private func send(
        _ batch: [UInt8], of page: MessagePage, of request: MessageRequest.Page, isLast: Bool,
        _ context: RequestContext
    ) {
        var payload: [UInt8] = []
        ServerMessageWriter.begin("messages", id: context.id, to: &payload)
        JSONWriter.member("conversation", request.conversation.string, to: &payload)
        page.write(batch, to: &payload)
        JSONWriter.raw(isLast ? "}" : ",\"more\":true}", to: &payload)
        shard.replies.send(payload, to: context.connection)
    }

    /// - Parameter user: `nil` for a backend.
    func read(_ request: MessageRequest.Page, for user: UserID?, done: @escaping StoreReply) {
        let keys = shard.partitions.keys(of: request.conversation)
        shard.store.run(
            .messages, keys: [keys.conversation(request.conversation), keys.log(request.conversation)],
            arguments: [
                user?.string ?? "", String(request.before), String(request.limit), String(Self.mostPageBytes),
            ], lane: .commands, reply: done)
    }
}

/// What `messages.lua` replies: `OK, first, last, MESSAGE …`.
struct MessagePage {
    let first: Int64
    let last: Int64
    let messages: [StoredMessage]

    init(_ words: [RedisValue]) {
        first = words.count > 1 ? words[1].int ?? 1 : 1
        last = words.count > 2 ? words[2].int ?? 0 : 0
        messages = words.dropFirst(3).compactMap { $0.bytes.flatMap { StoredMessage($0) } }
    }

    /// Appends the members of an answer.
    ///
    /// - Parameter batch: Messages of the page as JSON, with commas between them.
    func write(_ batch: [UInt8], to json: inout [UInt8]) {
        JSONWriter.raw(",\"messages\":[", to: &json)
        json += batch
        JSONWriter.raw("]", to: &json)
        JSONWriter.member("first", first, to: &json)
        JSONWriter.member("last", last, to: &json)
    }
}

extension StoredMessage {
    /// Messages as JSON with commas between them, in batches of at most so many bytes each, or of one message. There is
    /// at least one batch.
    static func batches(_ messages: [StoredMessage], bytes: Int) -> [[UInt8]] {
        var batches: [[UInt8]] = []
        var batch: [UInt8] = []
        for message in messages {
            var json: [UInt8] = []
            message.write(to: &json)
            if !batch.isEmpty {
                if batch.count + 1 + json.count > bytes {
                    batches.append(batch)
                    batch = []
                } else {
                    JSONWriter.raw(",", to: &batch)
                }
            }
            batch += json
        }
        return batches + [batch]
    }
}
