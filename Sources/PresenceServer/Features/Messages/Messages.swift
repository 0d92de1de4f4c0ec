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
    var sent: MetricCounter!
    var bytes: Rates<UserID>
    let room: StoreRoom
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
        registerSending(in: &registry)
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

    /// The new text is rejected while one of the two users of a direct conversation blocks the other, like a new
    /// message.
    private func edit(_ request: MessageRequest.Edit, _ context: RequestContext) async throws(Refusal) -> Answer {
        try charge(request.text.count, context)
        let (id, user) = (request.conversation, context.user)
        let reply = try await decided(MessageDraft(request, by: user), by: context.writer) {
            [self] (step) async throws(Refusal) in
            try room.check(request.text.count)
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

    private func delete(
        _ request: (conversation: ConversationID, message: String), _ context: RequestContext
    ) async throws(Refusal) -> Answer {
        try await shard.check(context.writer)
        let reply = try await delete(request.message, in: request.conversation, by: context.user)
        return encodeReply("messageUpdated", request.conversation, reply, context)
    }

    /// - Parameter user: `nil` for a backend.
    func delete(_ message: String, in id: ConversationID, by user: UserID?) async throws(Refusal) -> ScriptReply {
        defer { for notify in onDeletion { notify(id) } }
        return try await run(
            .deleteMessage, id, ["conversation": id, "user": user, "id": message, "keep": keep])
    }

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
