import PresenceCore
import PresenceProtocol
import Redis

/// What users ask and say about their conversations.
extension Conversations {
    func registerRequests(in registry: inout Registry) {
        registry.request(
            "createConversation", price: { RequestPrice.ids($0.participants.count) },
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.create(members) }
        ) { [unowned self] in create($0, $1) }
        registry.request(
            "getConversation", order: .question,
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.conversation(members) }
        ) { [unowned self] in get($0, $1) }
        registry.request(
            "conversationSettings",
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.settings(members) }
        ) { [unowned self] in set($0, $1) }
        registry.request(
            "renameConversation",
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.rename(members) }
        ) { [unowned self] request, context in
            run(.rename, on: request.conversation, [String(decoding: request.name ?? [], as: UTF8.self)], context)
        }
        registry.request(
            "changeMembers", price: { RequestPrice.ids($0.change.add.count + $0.change.remove.count) },
            decode: { (members, limits) throws(DecodingFailure) in
                try ConversationRequest.changeMembers(members, limits)
            }
        ) { [unowned self] in change($0, $1) }
    }

    /// Runs one script, or several, for a request; answers what conversations and messages are refused for, and all else as
    /// everywhere.
    ///
    /// Whether the user's token is still good is asked first: a conversation is in another partition than most of its members.
    /// That goes for questions too, so that what a client asks is read after what it said before.
    func ask(
        _ context: RequestContext, about id: ConversationID? = nil, changes: Bool = true,
        run: @escaping (@escaping StoreReply) -> Void, succeeded: @escaping ([RedisValue]) -> Void
    ) {
        Self.answer(context, on: shard, changes: changes) { [unowned shard] done in
            let noting: StoreReply = { result in
                if let id, result.failure?.isLasting == true { shard.noteDamage("conversation", of: id) }
                done(result)
            }
            shard.unlessRevoked(context.writer, done: done) { run(noting) }
        } succeeded: {
            succeeded($0)
        }
    }

    /// The same for what asks about the token itself. `hurry` as of an answer that may be hurried (`Replies`).
    static func answer(
        _ context: RequestContext, on shard: ShardLogic, changes: Bool = true, hurry: (() -> Void)? = nil,
        run: (@escaping StoreReply) -> Void, succeeded: @escaping ([RedisValue]) -> Void
    ) {
        var refusal: ServerMessage.ErrorMessage?
        shard.write(context.connection, context.id, changes: changes, hurry: hurry) { done in
            run { result in
                refusal = Self.refusal(of: result)
                done(refusal == nil ? result : .success(.array([.status("OK")])))
            }
        } succeeded: { [unowned shard] words in
            guard let refusal else { return succeeded(words) }
            shard.replies.error(refusal.with(id: context.id), to: context.connection)
        }
    }

    /// What the scripts say that only these folders know.
    static func refusal(of result: Result<RedisValue, RedisFailure>) -> ServerMessage.ErrorMessage? {
        guard case .success(let value) = result else { return nil }
        switch value.array?.first?.string {
        case "BLOCKED": return .init(code: .forbidden, message: "one of them cannot be written to by the other")
        case "DIRECT": return .init(code: .forbidden, message: "this is for groups only")
        case "OWNER": return .init(code: .forbidden, message: "only the owner removes others")
        case "CROWDED":
            return .init(code: .tooMany, message: "no more people may be in this conversation", field: "add")
        case "FULL":
            return .init(code: .tooMany, message: "one of them is in as many conversations as a user may be")
        case "MISSING": return .init(code: .notFound, message: "there is no such message")
        case "OTHERS": return .init(code: .forbidden, message: "it is somebody else's message")
        case "DELETED": return .init(code: .conflict, message: "the message is deleted")
        case "EMPTY":
            return .init(code: .validationFailed, message: "text must not be empty without attachments", field: "text")
        case "LARGE", "LONG":
            return .init(
                code: .validationFailed, message: "the message is longer than what the server may tell clients",
                field: value.array?.first?.string == "LONG" ? "text" : "message")
        case "CONFLICT": return .init(code: .conflict, message: "another message has this id", field: "message.id")
        default: return nil
        }
    }

    private func get(_ id: ConversationID, _ context: RequestContext) {
        var found: ConversationRecord?
        ask(context, about: id, changes: false) { [self] done in
            reading.read(id) { result in
                done(
                    result.map { record in
                        guard let record, record.member(context.user) != nil else {
                            return .array([.status("FORBIDDEN")])
                        }
                        found = record
                        return .array([.status("OK")])
                    })
            }
        } succeeded: { [self] _ in
            if let found { answer("conversationInfo", found, context) }
        }
    }

    private func set(_ request: ConversationRequest.Settings, _ context: RequestContext) {
        let muted = request.muted.map { isMuted in isMuted ? String(request.muteFor ?? -1) : "0" } ?? ""
        let archived = request.archived.map { $0 ? "1" : "0" } ?? ""
        run(.settings, on: request.conversation, [muted, archived], context)
    }

    /// Runs a script of the conversation alone and answers `ok`.
    private func run(_ script: Script, on id: ConversationID, _ arguments: [String], _ context: RequestContext) {
        let keys = shard.partitions.keys(of: id)
        ask(context, about: id) { [unowned shard] done in
            shard.store.run(
                script, keys: [keys.shards, keys.floor, keys.conversation(id)],
                arguments: [keys.events, shard.link.incarnation, id.string, context.user.string] + arguments,
                lane: .commands, reply: done)
        } succeeded: { [unowned shard] _ in
            shard.replies.ok(context.id, to: context.connection)
        }
    }

    // MARK: What a crowd costs

    /// So many members that are told of a change cost as much as a request, and so many that are looked at for a mark.
    static let (toldMembers, markedMembers) = (10, 50)

    /// A change of a conversation is told to all of its members, and costs Redis by their number, which is known afterwards: so
    /// the user's next request pays for what is beyond the first few of them.
    func charge(_ user: UserID, _ members: RedisValue, for each: Int) {
        let tokens = ((members.int.map { Int($0) } ?? 1) - 1) / each
        if tokens > 0 { shard.userRates.take(tokens, by: user, at: shard.clock.now) }
    }

    // MARK: Members

    private func change(_ request: ConversationRequest.MemberChange, _ context: RequestContext) {
        let (id, user) = (request.conversation, context.user)
        let intent = Intent(joining.kind, id)
        let changes = request.change.add.map { "+" + $0.string } + request.change.remove.map { "-" + $0.string }
        let first = IntentStep(
            .members, intent,
            keys: { [$0.floor, $0.conversation(id), $0.typing(id)] + $0.messages(id) },
            arguments: [id.string, user.string, String(shard.configuration.limits.participants)] + changes
        ) { [unowned self] words in
            guard words.first?.string == "OK" else { return .end(.array(words)) }
            return .step(joining.look(intent, .array(words)))
        }
        ask(context) { [self] done in
            let added = request.change.add.filter { $0 != user }
            blocks.unless(between: user, and: added, done: done) { [self] in
                reading.unlessFull(added, in: id, done: { [self] in hide($0, from: user, of: id, done: done) }) {
                    [self] in
                    shard.intents.begin(intent, first: first, of: user, reply: done)
                }
            }
        } succeeded: { [self] words in
            if words.count > 1 { charge(user, words[1], for: Self.toldMembers) }
            shard.replies.ok(context.id, to: context.connection)
        }
    }

    /// Who is not in a conversation learns nothing of those whom they would add.
    private func hide(
        _ answer: Result<RedisValue, RedisFailure>, from user: UserID, of id: ConversationID, done: @escaping StoreReply
    ) {
        guard (try? answer.get())?.array?.first?.string == "FULL" else { return done(answer) }
        reading.read(id) { record in
            done(record.flatMap { $0?.member(user) == nil ? .success(.array([.status("FORBIDDEN")])) : answer })
        }
    }

    /// A backend sets who is in a conversation. Whose account is deleted is left out, so that the same list said again changes
    /// nothing.
    func setParticipants(_ participants: [UserID], of id: ConversationID, done: @escaping StoreReply) {
        blocks.withoutDeleted(participants) { [self] result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let users):
                reading.unlessFull(users, in: id, done: done) { [self] in set(users, of: id, done: done) }
            }
        }
    }

    private func set(_ participants: [UserID], of id: ConversationID, done: @escaping StoreReply) {
        let intent = Intent(joining.kind, id)
        let first = IntentStep(
            .participants, intent,
            keys: { [$0.floor, $0.conversation(id), $0.typing(id)] + $0.messages(id) },
            arguments: [id.string] + participants.map(\.string)
        ) { [unowned self] words in
            guard words.first?.string == "OK" else { return .end(.array(words)) }
            return .step(joining.look(intent, .array(words)))
        }
        shard.intents.begin(intent, first: first, reply: done)
    }
}
