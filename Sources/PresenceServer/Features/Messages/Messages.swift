import Installation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The messages of conversations.
final class Messages: Feature {
    static let keepPerConversation = Setting<Int>(
        "messages.keepPerConversation", 10_000, in: 1...100_000,
        about: "How many messages of a conversation are kept; the oldest are removed. A message takes some 200 bytes "
            + "of Redis' memory, and recognising a repeated one reads 8 bytes for each that is kept.")
    static let keepFor = Setting<Milliseconds>(
        "messages.keepFor", 0, in: 0...3_653 * 24 * 3_600_000,
        about: "How long messages are kept, from 1 s to ten years; 0: until there are too many. Older ones are "
            + "removed within a minute, also in idle conversations.")

    static let bytesPerHour = Setting<Int>(
        "messages.bytesPerHour", 33_554_432, in: 0...1_099_511_627_776,
        about: "How many bytes of messages and edits a user may send in an hour, through each shard; as many in a "
            + "burst, then evenly over the hour. 0: no limit.")

    static let plan = FeaturePlan(
        name: "messages", scripts: Script.messageScripts, keys: [.aging, .agingFound],
        settings: [keepPerConversation, keepFor, bytesPerHour],
        check: { (configuration) throws(InvalidConfiguration) in
            guard !(1..<1_000).contains(configuration[keepFor]) else { throw .of(keepFor, "must be 0 or at least 1s") }
        })

    unowned let shard: ShardLogic
    let logs: MessageLogs
    private var aging: MessageAging?
    /// Used in place of `aging`, if messages are kept for any time.
    private var agingReset: AgingReset?
    var conversations: Conversations { shard.feature(Conversations.self)! }
    private var sent: MetricCounter!
    private var bytes: Rates<UserID>
    private let room: StoreRoom
    /// Decides about texts before they are stored; `nil` if none needs that.
    var moderation: Moderation?
    /// Called with the conversation of each message that was deleted through this shard.
    var onDeletion: [(ConversationID) -> Void] = []

    init(_ shard: ShardLogic) {
        self.shard = shard
        logs = MessageLogs(shard)
        bytes = Rates(RateLimit(perHour: Int64(shard.configuration[Self.bytesPerHour])))
        room = StoreRoom(shard)
    }

    func register(in registry: inout Registry) {
        logs.register(in: &registry)
        let expired = registry.counter(
            "messages_expired_total",
            help: "messages that the sweep removed because they were older than messages.keepFor")
        if shard.configuration[Self.keepFor] > 0 {
            aging = MessageAging(shard, counting: expired, in: &registry)
        } else {
            agingReset = AgingReset(shard, in: &registry)
        }
        sent = registry.counter("messages_sent_total", help: "messages stored, and those sent again")
        conversations.onMembers.append { [unowned self] in logs.handle(members: $0) }
        registry.request(
            "send", decode: { (members, _) throws(DecodingFailure) in try MessageRequest.send(members) },
            answer: { [unowned self] in try await send($0, $1) })
        registry.request(
            "editMessage", decode: { (members, _) throws(DecodingFailure) in try MessageRequest.edit(members) },
            answer: { [unowned self] in try await edit($0, $1) })
        registry.request(
            "deleteMessage", decode: { (members, _) throws(DecodingFailure) in try MessageRequest.message(members) },
            answer: { [unowned self] in try await delete($0, $1) })
        registry.request(
            "getMessages", order: .question, price: { RequestPrice.ids(Int($0.limit)) }, mayBeLong: { _ in true },
            decode: { (members, _) throws(DecodingFailure) in try MessageRequest.page(members) },
            answer: { [unowned self] (request, context) async throws(Refusal) in try await get(request, context) })
        registerRoutes(in: &registry)
    }

    func becameStale() { aging?.interrupt() }
    func readAgain() async throws(RedisFailure) { aging?.interrupt() }

    func becameLive() {
        aging?.start()
        agingReset?.start()
    }

    // MARK: Changes

    /// Charges the user for this many bytes.
    private func charge(_ count: Int, _ context: RequestContext) throws(Refusal) {
        let now = shard.clock.now
        bytes.expire(now: now)
        guard let wait = bytes.charge(count, to: context.user, at: now) else { return }
        throw shard.met(.userBytes, retryAfter: wait)
    }

    /// A message may be refused, in this order: for the user's bytes; for the token or the session (`Writer`, read here and not
    /// by the script); for Redis' memory (`StoreRoom`); for a block; and by `send.lua`, which decides, stores and publishes.
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
            try room.admit(message.bytes)
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

    /// The new text is rejected while one of the two users of a direct conversation blocks the other, like a new
    /// message.
    private func edit(_ request: MessageRequest.Edit, _ context: RequestContext) async throws(Refusal) -> Answer {
        try charge(request.text.count, context)
        let (id, user) = (request.conversation, context.user)
        let reply = try await decided(MessageDraft(request, by: user), by: context.writer) {
            [self] (step) async throws(Refusal) in
            try room.admit(request.text.count)
            let isBlocked = try await conversations.isBlocked(user, in: id)
            return try await run(
                .editMessage, id, verdict: step,
                [
                    "conversation": id, "user": user, "id": request.message, "text": request.text, "keep": keep,
                    "isBlocked": isBlocked, "longest": longest, "ask": step.ask, "replacement": step.replacement,
                ])
        }
        return encodeReply("messageUpdated", id, reply, context)
    }

    /// Runs `store` once, or again after each step to a verdict. Before each run, the writer's token is checked.
    private func decided(
        _ draft: MessageDraft, by writer: Writer?, _ store: @escaping (VerdictStep) async throws(Refusal) -> ScriptReply
    ) async throws(Refusal) -> ScriptReply {
        let admitted = { [shard] (step: VerdictStep) async throws(Refusal) -> ScriptReply in
            if let writer { try await shard.admit(writer) }
            return try await store(step)
        }
        guard let moderation else { return try await admitted(.none) }
        return try await moderation.decide(draft, admitted)
    }

    private func delete(
        _ request: (conversation: ConversationID, message: String), _ context: RequestContext
    ) async throws(Refusal) -> Answer {
        try await shard.admit(context.writer)
        let reply = try await delete(request.message, in: request.conversation, by: context.user)
        return encodeReply("messageUpdated", request.conversation, reply, context)
    }

    /// - Parameter user: `nil` for a backend.
    func delete(_ message: String, in id: ConversationID, by user: UserID?) async throws(Refusal) -> ScriptReply {
        defer { for told in onDeletion { told(id) } }
        return try await run(
            .deleteMessage, id, ["conversation": id, "user": user, "id": message, "keep": keep])
    }

    /// - Parameter verdict: Given for scripts that may need one. Their replies about it are accepted.
    private func run(
        _ script: Script, _ id: ConversationID, verdict: VerdictStep? = nil,
        _ arguments: KeyValuePairs<StaticString, any ScriptArgument>
    ) async throws(Refusal) -> ScriptReply {
        let keys = shard.partitions.keys(of: id)
        let names = verdict.map { keys.written(id, verdict: $0.key) } ?? keys.written(id)
        let reply = try await shard.run(ScriptCall(script, in: keys, names, arguments), about: id)
        return VerdictStep.words.contains(reply.word) ? reply : try reply.accepted(or: MessageRefusal.self)
    }

    /// The reply is `OK` and the message; if members receive it, their number is between them.
    private func encodeReply(
        _ type: StaticString, _ id: ConversationID, _ reply: ScriptReply, _ context: RequestContext
    ) -> Answer {
        if reply.count > 1 { conversations.charge(context.user, reply[0], for: Conversations.toldMembers) }
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
    private var longest: Int { shard.configuration.limits.maxServerMessageBytes / 3 }
    private var keep: Int { shard.configuration[Self.keepPerConversation] }
}

/// Why a script refuses a request about a conversation's messages.
enum MessageRefusal: String, RefusalWord {
    case forbidden = "FORBIDDEN"
    case blocked = "BLOCKED"
    case nowhere = "NOWHERE"
    case missing = "MISSING"
    case others = "OTHERS"
    case deleted = "DELETED"
    case empty = "EMPTY"
    case large = "LARGE"
    case long = "LONG"
    case conflict = "CONFLICT"

    var refusal: Refusal {
        switch self {
        case .forbidden: Refusal(.forbidden, "only members of a conversation may do this")
        case .blocked: Refusal(.forbidden, "one of these users cannot write to the other")
        case .nowhere: Refusal(.notFound, "there is no such conversation")
        case .missing: Refusal(.notFound, "there is no such message")
        case .others: Refusal(.forbidden, "it is another user's message")
        case .deleted: Refusal(.conflict, "the message is deleted")
        case .empty: Refusal(.validationFailed, "text must not be empty without attachments", field: "text")
        case .large, .long:
            Refusal(
                .validationFailed, "the message is longer than the server may send to clients",
                field: self == .long ? "text" : "message")
        case .conflict: Refusal(.conflict, "another message has this id", field: "message.id")
        }
    }

    /// Redis has something that is not a message.
    static let unreadable = Refusal(.internal, "the store holds no such message")
}

extension StoredMessage {
    /// The message that a script's reply ends with.
    init?(last reply: ScriptReply) {
        guard let bytes = reply.rest.last?.bytes else { return nil }
        self.init(bytes)
    }
}
