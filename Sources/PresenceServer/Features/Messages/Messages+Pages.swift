import PresenceCore
import PresenceProtocol
import Redis

// Pages of a conversation's messages.
extension Messages {
    /// The most bytes of messages in a page, with their earlier texts: 100 of the longest texts.
    private static let mostPageBytes = 3 << 20

    func get(_ request: MessageRequest.Page, _ context: RequestContext) async throws(Refusal) -> Answer {
        try await shard.check(context.writer)
        let page = try await read(request, for: context.user)
        let batches = StoredMessage.batches(
            page.messages, bytes: shard.configuration.limits.maxServerMessageBytes - 512)
        return Answer { [self] context in
            for (number, batch) in batches.enumerated() {
                send(batch, of: page, of: request, isLast: number == batches.count - 1, context)
            }
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
    func read(_ request: MessageRequest.Page, for user: UserID?) async throws(Refusal) -> MessagePage {
        let (id, keys) = (request.conversation, shard.partitions.keys(of: request.conversation))
        let call = ScriptCall(
            .messages, in: keys, ["conversation": keys.conversation(id), "log": keys.log(id)],
            ["user": user, "before": request.before, "limit": request.limit, "most": Self.mostPageBytes])
        let reply = try await shard.run(call, changes: false, about: id).accepted(or: MessageRefusal.self)
        return MessagePage(reply)
    }
}

/// The reply of `messages.lua`: `first, last, MESSAGE …`.
struct MessagePage {
    let first: Int64
    let last: Int64
    let messages: [StoredMessage]

    init(_ reply: ScriptReply) {
        first = reply[0].int ?? 1
        last = reply[1].int ?? 0
        messages = reply.rest.dropFirst(2).compactMap { $0.bytes.flatMap { StoredMessage($0) } }
    }

    /// Appends the members of an answer.
    ///
    /// - Parameter batch: messages of the page as JSON, with commas between them.
    func write(_ batch: [UInt8], to json: inout [UInt8]) {
        JSONWriter.raw(",\"messages\":[", to: &json)
        json += batch
        JSONWriter.raw("]", to: &json)
        JSONWriter.member("first", first, to: &json)
        JSONWriter.member("last", last, to: &json)
    }
}

extension StoredMessage {
    /// Messages as JSON with commas between them, in batches of at most `bytes` bytes, or of one longer message. There
    /// is at least one batch.
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
