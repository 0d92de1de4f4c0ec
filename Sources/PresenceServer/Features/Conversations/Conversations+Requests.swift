import PresenceCore
import PresenceProtocol
import Redis

/// Users' requests about their conversations.
///
/// Each first confirms that the user's token is still valid (``ShardLogic/check(_:)``), because a conversation is in
/// another partition than most of its members. Reads do so too: a client's read then comes after its earlier writes.
extension Conversations {
    func registerRequests(in registry: inout Registry) {
        registry.request(
            "createConversation", price: { RequestPrice.ids($0.participants.count) },
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.create(members) },
            answer: { [unowned self] (request, context) async throws(Refusal) in
                try shard.admitWrites()
                do throws(Refusal) {
                    return encodeReply("conversationCreated", try await create(request, context), context)
                } catch {
                    throw error.ofChange
                }
            })
        registry.request(
            "getConversation", order: .question,
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.conversation(members) },
            answer: { [unowned self] (id, context) async throws(Refusal) in
                try await shard.check(context.writer)
                return encodeReply("conversationInfo", try await record(id, for: context.user), context)
            })
        registry.request(
            "conversationSettings",
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.settings(members) },
            answer: { [unowned self] (request, context) async throws(Refusal) in
                let mute = request.muted.map { $0 ? request.muteFor ?? -1 : 0 }
                let archive = request.archived.map { $0 ? 1 : 0 }
                let id = request.conversation
                return try await run(
                    .settings, on: id,
                    ["conversation": id, "user": context.user, "mute": mute, "archive": archive], context)
            })
        registry.request(
            "renameConversation",
            decode: { (members, _) throws(DecodingFailure) in try ConversationRequest.rename(members) },
            answer: { [unowned self] (request, context) async throws(Refusal) in
                let id = request.conversation
                return try await run(
                    .rename, on: id, ["conversation": id, "user": context.user, "name": request.name], context)
            })
        registry.request(
            "changeMembers", price: { RequestPrice.ids($0.change.add.count + $0.change.remove.count) },
            decode: { (members, limits) throws(DecodingFailure) in
                try ConversationRequest.changeMembers(members, limits)
            }, answer: { [unowned self] (request, context) async throws(Refusal) in try await change(request, context) }
        )
    }

    /// A conversation as a member sees it.
    func encodeReply(_ type: StaticString, _ record: ConversationRecord, _ context: RequestContext) -> Answer {
        var payload: [UInt8] = []
        ServerMessageWriter.begin(type, id: context.id, to: &payload)
        JSONWriter.key("conversation", to: &payload)
        payload += record.json(for: context.user, at: shard.clock.redisNow)
        JSONWriter.raw("}", to: &payload)
        return .message(payload)
    }

    /// The conversation; refused if the user is not a member.
    func record(_ id: ConversationID, for user: UserID) async throws(Refusal) -> ConversationRecord {
        guard let record = try await reading.read(id), record.member(user) != nil else {
            throw ConversationRefusal.forbidden.refusal
        }
        return record
    }

    /// Runs a script that needs only the conversation's key.
    private func run(
        _ script: Script, on id: ConversationID, _ arguments: KeyValuePairs<StaticString, any ScriptArgument>,
        _ context: RequestContext
    ) async throws(Refusal) -> Answer {
        try await shard.check(context.writer)
        let keys = shard.partitions.keys(of: id)
        let call = ScriptCall(script, in: keys, ["conversation": keys.conversation(id)], arguments)
        _ = try await shard.run(call, about: id).accepted(or: ConversationRefusal.self)
        return .ok
    }

    // MARK: What a crowd costs

    /// How many members cost as much as a request: members who receive a change, and members whom a mark's script
    /// reads.
    static let (notifiedMembers, markedMembers) = (10, 50)

    /// A change of a conversation is sent to all members, so its cost for Redis grows with their number, which is known
    /// only afterwards. The user's next request pays for the members beyond the first few.
    func charge(_ user: UserID, _ members: RedisValue, for each: Int) {
        let tokens = ((members.int.map { Int($0) } ?? 1) - 1) / each
        if tokens > 0 { shard.userRates.consume(tokens, by: user, at: shard.clock.now) }
    }

    // MARK: Members

    private func change(
        _ request: ConversationRequest.MemberChange, _ context: RequestContext
    ) async throws(Refusal) -> Answer {
        let (id, user, change) = (request.conversation, context.user, request.change)
        let added = change.add.filter { $0 != user }
        try await shard.check(context.writer)
        try await blocks.check(user, and: added)
        if try await reading.isFull(added, in: id) {
            // A user who is not a member must learn nothing about the users to be added.
            _ = try await record(id, for: user)
            throw ConversationRefusal.full.refusal
        }
        let (intent, keys) = (Intent(joining.kind, id), shard.partitions.keys(of: id))
        let changes = change.add.flatMap { ["+", $0.string] } + change.remove.flatMap { ["-", $0.string] }
        let call = ScriptCall(
            .members, in: keys, keys.whole(id),
            [
                "intent": intent.member, "conversation": id, "asker": user,
                "most": shard.configuration[Self.mostParticipants],
            ], each: changes)
        let reply = try await joining.change(call, of: intent, for: user).accepted(or: ConversationRefusal.self)
        if reply.count > 0 { charge(user, reply[0], for: Self.notifiedMembers) }
        return .ok
    }

    /// Sets the members of a conversation, for a backend. Users whose account is deleted are left out, so repeating the
    /// same list changes nothing.
    func setParticipants(_ participants: [UserID], of id: ConversationID) async throws(Refusal) {
        let users = try await blocks.withoutDeleted(participants)
        if try await reading.isFull(users, in: id) { throw ConversationRefusal.full.refusal }
        let (intent, keys) = (Intent(joining.kind, id), shard.partitions.keys(of: id))
        let call = ScriptCall(
            .participants, in: keys, keys.whole(id), ["intent": intent.member, "conversation": id], each: users)
        _ = try await joining.change(call, of: intent).accepted(or: ConversationRefusal.self)
    }
}

/// Why a request about a conversation is refused.
enum ConversationRefusal: String, RefusalWord {
    case forbidden = "FORBIDDEN"
    case direct = "DIRECT"
    case owner = "OWNER"
    case crowded = "CROWDED"
    case tooMany = "TOOMANY"
    case conflict = "CONFLICT"
    /// Not replies of scripts, but of checks before them.
    case blocked = "BLOCKED"
    case full = "FULL"

    var refusal: Refusal {
        switch self {
        case .forbidden: Refusal(.forbidden, "only participants may do this")
        case .direct: Refusal(.forbidden, "this is for groups only")
        case .owner: Refusal(.forbidden, "only the owner removes others")
        case .crowded: Refusal(.tooMany, "this conversation has as many participants as allowed", field: "add")
        case .tooMany: Refusal(.tooMany, "no more conversations may be made by this user")
        case .conflict: Refusal(.conflict, "it exists already")
        case .blocked: Refusal(.forbidden, "one of these users cannot write to the other")
        case .full: Refusal(.tooMany, "one of the users is in as many conversations as allowed")
        }
    }
}
