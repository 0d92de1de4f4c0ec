import PresenceCore
import PresenceProtocol

// The request `send`: its function, then its decoding. `PresenceCore/Requests/Requests.swift` calls it, and has the list of
// the steps before and after it.

extension Messages {
    func registerSending(in registry: inout Registry) {
        registry.request(
            "send", decode: { (members, _) throws(DecodingFailure) in try MessageRequest.send(members) },
            answer: { [unowned self] in try await send($0, $1) })
    }

    /// A message may be refused, in this order: for the user's bytes; for the token or the session (`Writer`, read here and not
    /// by the script); for Redis' memory (`StoreRoom`); for a block; and by `send.lua`, which decides (membership, length, ban),
    /// stores and publishes. With moderation, the script is run first to learn whether the text would be stored, and once
    /// more with the verdict about it.
    private func send(_ request: MessageRequest.Send, _ context: RequestContext) async throws(Refusal) -> Answer {
        try charge(request.message.bytes, context)
        let reply = try await send(request.message, from: context.user, in: request.conversation, by: context.writer)
        return encodeReply("sent", request.conversation, reply, context)
    }

    /// A direct conversation accepts no message while one of its users blocks the other. The script decides, because it
    /// still answers a message that is stored already.
    ///
    /// - Parameter writer: `nil` for a backend.
    func send(
        _ message: MessageRequest.New, from user: UserID, in id: ConversationID, by writer: Writer? = nil
    ) async throws(Refusal) -> ScriptReply {
        let draft = MessageDraft(message, from: user, in: id, isOfBackend: writer == nil)
        let reply = try await decided(draft, by: writer) { [self] (step) async throws(Refusal) in
            try room.check(message.bytes)
            let isBlocked = try await conversations.isBlocked(user, in: id)
            return try await run(
                .send, id, verdict: step,
                [
                    "conversation": id, "from": user, "id": message.id, "text": message.text,
                    "attachments": message.attachments, "priority": message.priority, "keep": keep,
                    "keepFor": shard.configuration[Self.keepFor], "isBlocked": isBlocked, "longest": longest,
                    "ask": step.ask, "replacement": step.replacement,
                ])
        }
        sent.value += 1
        return reply
    }

    /// Runs `store` once, or again after each step to a verdict. Before each run, the writer's token is checked.
    func decided(
        _ draft: MessageDraft, by writer: Writer?, _ store: @escaping (VerdictStep) async throws(Refusal) -> ScriptReply
    ) async throws(Refusal) -> ScriptReply {
        let admitted = { [shard] (step: VerdictStep) async throws(Refusal) -> ScriptReply in
            if let writer { try await shard.check(writer) }
            return try await store(step)
        }
        guard let moderation else { return try await admitted(.none) }
        return try await moderation.decide(draft, admitted)
    }

    /// Charges the user for this many bytes.
    func charge(_ count: Int, _ context: RequestContext) throws(Refusal) {
        let now = shard.clock.now
        bytes.expire(now: now)
        guard let wait = bytes.charge(count, to: context.user, at: now) else { return }
        throw shard.met(.userBytes, retryAfter: wait)
    }

    /// - Parameter verdict: Given for scripts that may need one. Their replies about it are accepted.
    func run(
        _ script: Script, _ id: ConversationID, verdict: VerdictStep? = nil,
        _ arguments: KeyValuePairs<StaticString, any ScriptArgument>
    ) async throws(Refusal) -> ScriptReply {
        let keys = shard.partitions.keys(of: id)
        let names = verdict.map { keys.written(id, verdict: $0.key) } ?? keys.written(id)
        let reply = try await shard.run(ScriptCall(script, in: keys, names, arguments), about: id)
        return VerdictStep.words.contains(reply.word) ? reply : try reply.accepted(or: MessageRefusal.self)
    }

    /// The reply is `OK` and the message; if members receive it, their number is between them.
    func encodeReply(
        _ type: StaticString, _ id: ConversationID, _ reply: ScriptReply, _ context: RequestContext
    ) -> Answer {
        if reply.count > 1 { conversations.charge(context.user, reply[0], for: Conversations.notifiedMembers) }
        guard let message = StoredMessage(last: reply) else { return .refusal(MessageRefusal.unreadable) }
        var payload: [UInt8] = []
        ServerMessageWriter.begin(type, id: context.id, to: &payload)
        JSONWriter.member("conversation", id.string, to: &payload)
        JSONWriter.key("message", to: &payload)
        message.write(to: &payload)
        JSONWriter.raw("}", to: &payload)
        return .message(payload)
    }

    /// A message's object may take a third of the longest message to clients, in bytes, so that it fits together with
    /// the rest.
    var longest: Int { shard.configuration.limits.maxServerMessageBytes / 3 }
    var keep: Int { shard.configuration[Self.keepPerConversation] }
}

// MARK: Decoding

extension MessageRequest {
    struct New {
        let id: String
        /// JSON; `attachments` and `priority` are empty if there are none.
        let text: [UInt8]
        let attachments: [UInt8]
        let priority: [UInt8]
        /// The stored bytes, without its head.
        var bytes: Int { text.count + attachments.count + priority.count }
    }

    struct Send {
        let conversation: ConversationID
        let message: New
    }

    static let mostAttachments = 10

    static func send(_ members: ClientMembers) throws(DecodingFailure) -> Send {
        // The client's position in the conversation is only checked for its form: the store recognises a message by its
        // id alone.
        _ = try members["after"]?.checkedCount("after")
        let message = try members.needed(members["message"], "message")
        return Send(conversation: try ConversationRequest.conversation(members), message: try new(message))
    }

    static func new(_ value: JSONValue) throws(DecodingFailure) -> New {
        var members = try value.object("message")
        var (messageID, text): (String?, String?)
        var (attachments, priority): ([UInt8], [UInt8]) = ([], [])
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null else { return }
            if key.equals("id") {
                messageID = try id(value, "message.id")
            } else if key.equals("text") {
                text = try value.checkedString("message.text")
            } else if key.equals("attachments") {
                attachments = try Self.attachments(value)
            } else if key.equals("priority") {
                priority = try Self.priority(value)
            }
        }
        guard let messageID else { throw .missing("message.id") }
        if let rule = brokenRule(by: text ?? "") { throw .invalid("message.text", rule) }
        guard text?.isEmpty == false || !attachments.isEmpty else {
            throw .invalid("message.text", "must not be empty without attachments")
        }
        return New(id: messageID, text: json(text ?? ""), attachments: attachments, priority: priority)
    }

    private static func attachments(_ value: JSONValue) throws(DecodingFailure) -> [UInt8] {
        let field = "message.attachments"
        var left = mostAttachments
        let list = try value.elements(field) { (element) throws(DecodingFailure) in
            guard left > 0 else {
                throw DecodingFailure(
                    code: .tooMany, message: "at most \(mostAttachments) attachments in one message", field: field)
            }
            left -= 1
            return try attachment(element, field)
        }
        return list.isEmpty ? [] : [0x5B] + Array(list.joined(separator: [0x2C])) + [0x5D]
    }

    private enum Kind: String, CaseIterable { case image, video, file }

    private static func attachment(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> [UInt8] {
        var members = try value.object(field)
        var (id, kind): (Identifier?, Kind?)
        var (link, thumbnail): (String?, String?)
        var size: Int64?
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null else { return }
            if key.equals("id") {
                id = try value.checkedIdentifier(field + ".id")
            } else if key.equals("kind") {
                kind = try value.checkedCase(of: Kind.self, field + ".kind")
            } else if key.equals("url") {
                link = try url(value, field + ".url")
            } else if key.equals("thumbnailURL") {
                thumbnail = try url(value, field + ".thumbnailURL")
            } else if key.equals("sizeBytes") {
                size = try value.checkedCount(field + ".sizeBytes")
            }
        }
        guard let id else { throw .missing(field + ".id") }
        guard let kind else { throw .missing(field + ".kind") }
        guard let link else { throw .missing(field + ".url") }
        guard let size else { throw .missing(field + ".sizeBytes") }
        var json = Array(#"{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        JSONWriter.member("kind", kind.rawValue, to: &json)
        JSONWriter.member("url", link, to: &json)
        if let thumbnail { JSONWriter.member("thumbnailURL", thumbnail, to: &json) }
        JSONWriter.member("sizeBytes", size, to: &json)
        return json + [0x7D]
    }

    private static func url(_ value: JSONValue, _ field: String) throws(DecodingFailure) -> String {
        let url = try value.checkedString(field)
        guard PhotoURL.isValid(url) else { throw .invalid(field, "must be an absolute https URL") }
        return url
    }

    private static func priority(_ value: JSONValue) throws(DecodingFailure) -> [UInt8] {
        var members = try value.object("message.priority")
        var reason: String?
        try members.forEachMember { (key, value) throws(DecodingFailure) in
            guard value.kind != .null, key.equals("reason") else { return }
            let text = try value.checkedString("message.priority.reason")
            if let rule = FreeText.brokenRule(by: text, maximumCharacters: 200) {
                throw .invalid("message.priority.reason", rule)
            }
            reason = text
        }
        guard let reason else { return Array("{}".utf8) }
        var json = Array(#"{"reason":"#.utf8)
        JSONWriter.string(reason, to: &json)
        return json + [0x7D]
    }
}
