import Installation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The messages of conversations.
final class Messages: Feature {
    static let keepPerConversation = FeatureSetting.count(
        "messages.keepPerConversation", 10_000, in: 1...100_000,
        about: "How many messages of a conversation are kept; the oldest are removed. A message takes some 200 bytes "
            + "of Redis' memory, and recognising a repeated one reads 8 bytes for each that is kept.")
    static let keepFor = FeatureSetting.duration(
        "messages.keepFor", 0, in: 0...3_653 * 24 * 3_600_000,
        about: "How long messages are kept, from 1 s to ten years; 0: until there are too many. Older ones are "
            + "removed within a minute, also in idle conversations.")

    static let bytesPerHour = FeatureSetting.count(
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
    /// In the place of `aging`, where messages are kept for any time.
    private var agingReset: AgingReset?
    var conversations: Conversations { shard.feature(Conversations.self)! }
    private var sent: MetricCounter!
    private var bytes: Rates<UserID>
    private let room: StoreRoom
    /// Told of which conversation a message was deleted through this shard.
    var onDeletion: [(ConversationID) -> Void] = []

    init(_ shard: ShardLogic) {
        self.shard = shard
        logs = MessageLogs(shard)
        bytes = Rates(RateLimit(perHour: shard.configuration[Self.bytesPerHour]))
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
        registry.request("send", decode: { (members, _) throws(DecodingFailure) in try MessageRequest.send(members) }) {
            [unowned self] in send($0, $1)
        }
        registry.request(
            "editMessage", decode: { (members, _) throws(DecodingFailure) in try MessageRequest.edit(members) }
        ) { [unowned self] request, context in
            edit(request, context)
        }
        registry.request(
            "deleteMessage", decode: { (members, _) throws(DecodingFailure) in try MessageRequest.message(members) }
        ) { [unowned self] request, context in
            delete(request.message, in: request.conversation, context)
        }
        registry.request(
            "getMessages", order: .question, price: { RequestPrice.ids(Int($0.limit)) }, mayBeLong: { _ in true },
            decode: { (members, _) throws(DecodingFailure) in try MessageRequest.page(members) }
        ) { [unowned self] in get($0, $1) }
        registerRoutes(in: &registry)
    }

    func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void) {
        aging?.resynchronise(step)
        agingReset?.resynchronise(step)
        done(nil)
    }

    // MARK: Changes

    /// Whether the user may send so many bytes more; if not, the request has been answered.
    private func admits(_ bytes: Int, _ context: RequestContext) -> Bool {
        let now = shard.clock.now
        self.bytes.expire(now: now)
        guard let wait = self.bytes.charge(bytes, to: context.user, at: now) else { return true }
        shard.limitRate(of: context.connection, context.id, .userBytes, retryAfter: wait)
        return false
    }

    private func send(_ request: MessageRequest.Send, _ context: RequestContext) {
        guard admits(request.message.bytes, context) else { return }
        conversations.ask(context, about: request.conversation) { [self] done in
            send(request.message, from: context.user, in: request.conversation, done: done)
        } succeeded: { [self] words in
            answer("sent", request.conversation, words, context)
        }
    }

    /// A direct conversation takes nothing while one of both blocks the other.
    func send(_ message: MessageRequest.New, from user: UserID, in id: ConversationID, done: @escaping StoreReply) {
        guard room.take(message.bytes) else { return done(.failure(Self.full)) }
        unlessUnknown(user, in: id, done: done) { [self] isBlocked in
            run(
                .send, id,
                [
                    user.string, message.id, text(message.text), text(message.attachments), text(message.priority),
                    String(keep), String(shard.configuration[Self.keepFor]), isBlocked ? "1" : "0",
                    String(longest),
                ]
            ) { [self] result in
                if (try? result.get())?.array?.first?.string == "OK" { sent.value += 1 }
                done(result)
            }
        }
    }

    /// New text reaches nobody while one of both blocks the other, no more than a new message does.
    private func edit(_ request: MessageRequest.Edit, _ context: RequestContext) {
        guard admits(request.text.count, context) else { return }
        let id = request.conversation
        conversations.ask(context, about: id) { [self] done in
            guard room.take(request.text.count) else { return done(.failure(Self.full)) }
            unlessUnknown(context.user, in: id, done: done) { [self] isBlocked in
                run(
                    .editMessage, id,
                    [
                        context.user.string, request.message, text(request.text), String(keep), isBlocked ? "1" : "0",
                        String(longest),
                    ], done: done)
            }
        } succeeded: { [self] words in
            answer("messageUpdated", id, words, context)
        }
    }

    private func delete(_ message: String, in id: ConversationID, _ context: RequestContext) {
        conversations.ask(context, about: id) { [self] done in
            remove(message, in: id, by: context.user.string, done: done)
        } succeeded: { [self] words in
            answer("messageUpdated", id, words, context)
        }
    }

    /// The script decides what a block is for: what is stored already is answered all the same.
    private func unlessUnknown(
        _ user: UserID, in id: ConversationID, done: @escaping StoreReply, _ run: @escaping (Bool) -> Void
    ) {
        conversations.isBlocked(user, in: id) { result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let isBlocked): run(isBlocked)
            }
        }
    }

    /// A backend deletes a message.
    func delete(_ message: String, in id: ConversationID, done: @escaping StoreReply) {
        remove(message, in: id, by: "", done: done)
    }

    private func remove(
        _ message: String, in id: ConversationID, by user: String, done: @escaping StoreReply
    ) {
        run(.deleteMessage, id, [user, message, String(keep)]) { [self] result in
            done(result)
            for told in onDeletion { told(id) }
        }
    }

    private func run(_ script: Script, _ id: ConversationID, _ arguments: [String], done: @escaping StoreReply) {
        let keys = shard.partitions.keys(of: id)
        shard.store.run(
            script,
            keys: [
                keys.shards, keys.floor, keys.conversation(id), keys.log(id), keys.changes(id), keys.prints(id),
                keys.aging, keys.attachments(id), keys.attachmentsDue,
            ],
            arguments: [keys.events, shard.link.incarnation, id.string] + arguments, lane: .commands, reply: done)
    }

    /// `OK` and the message, between them the number of members if they are told of it.
    private func answer(
        _ type: StaticString, _ id: ConversationID, _ words: [RedisValue], _ context: RequestContext
    ) {
        if words.count > 2 { conversations.charge(context.user, words[1], for: Conversations.toldMembers) }
        guard let message = words.last?.bytes.flatMap({ StoredMessage($0) }) else {
            return shard.replies.error(
                .init(id: context.id, code: .internal, message: "the store holds no such message"),
                to: context.connection)
        }
        var payload: [UInt8] = []
        ServerMessageWriter.begin(type, id: context.id, to: &payload)
        JSONWriter.member("conversation", id.string, to: &payload)
        JSONWriter.key("message", to: &payload)
        message.write(to: &payload)
        JSONWriter.raw("}", to: &payload)
        shard.replies.send(payload, to: context.connection)
    }

    /// As Redis says it.
    private static let full = RedisFailure.server(code: "OOM", message: "OOM messages have no room left")
    /// A message's object has a third of the longest message to clients, in bytes: so it fits with whatever is told beside it.
    private var longest: Int { shard.configuration.limits.maxServerMessageBytes / 3 }
    private var keep: Int64 { shard.configuration[Self.keepPerConversation] }
    private func text(_ json: [UInt8]) -> String { String(decoding: json, as: UTF8.self) }
}
