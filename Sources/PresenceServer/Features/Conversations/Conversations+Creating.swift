import PresenceCore
import PresenceProtocol
import Redis

/// Making conversations.
extension Conversations {
    func create(
        _ request: ConversationRequest.Creation, _ context: RequestContext
    ) async throws(Refusal) -> ConversationRecord {
        let creator = context.user
        let others = request.participants.filter { $0 != creator }
        let most = shard.configuration[Self.mostParticipants]
        guard !others.isEmpty else {
            throw Refusal(.validationFailed, "a conversation has at least 2 participants", field: "participants")
        }
        guard others.count < most else {
            throw Refusal(.tooMany, "at most \(most) participants in one conversation", field: "participants")
        }
        try await shard.check(context.writer)
        // A repeated creation returns the conversation that the first one made, with its present members. That holds
        // even if, since then, one of the users has blocked the other or deleted their account. A creator who has left
        // the conversation is refused like any user who is not a member.
        if let key = request.key {
            let creations = shard.partitions.keys(of: creator).creations(creator)
            let made = try await shard.run("HGET", creations, key.string).string
            if let id = made.flatMap({ ConversationID($0) }) { return try await record(id, for: creator) }
        }
        try await blocks.check(creator, and: others)
        if others.count == 1, request.name == nil {
            return try await createDirect(creator, others[0], request, context.writer)
        }
        if try await reading.isFull([creator] + others, madeBy: creator) { throw ConversationRefusal.full.refusal }
        return try await createGroup(creator, request, context.writer)
    }

    // MARK: Groups

    private func createGroup(
        _ creator: UserID, _ request: ConversationRequest.Creation, _ writer: Writer
    ) async throws(Refusal) -> ConversationRecord {
        let participants =
            request.participants.contains(creator) ? request.participants : [creator] + request.participants
        let (id, keys) = (groupID(near: creator), shard.partitions.keys(of: creator))
        let intent = Intent(joining.kind, id)
        let call = ScriptCall(
            .create, in: keys,
            [
                "unfinished": keys.unfinished, "conversation": keys.conversation(id), "creator": keys.user(creator),
                "creations": keys.creations(creator),
            ],
            [
                "intent": intent.member, "conversation": id,
                "most": shard.configuration[Self.mostCreated], "key": request.key?.string,
                "creator": creator, "name": request.name, "metadata": request.metadata,
            ], each: participants, by: writer)
        let reply = try await joining.change(call, of: intent)
        if reply.word == "MADE", let made = reply[0].string.flatMap({ ConversationID($0) }) {
            return try await record(made, for: creator)
        }
        return try record(id, of: reply)
    }

    /// A random id in the partition of its creator, so that one script can count and create.
    private func groupID(near creator: UserID) -> ConversationID {
        let partition = shard.partitions.index(of: creator)
        while true {
            let id = ConversationID("g" + shard.randomName())!
            if shard.partitions.index(of: id) == partition { return id }
        }
    }

    /// The conversation that the script made.
    private func record(_ id: ConversationID, of reply: ScriptReply) throws(Refusal) -> ConversationRecord {
        let fields = try reply.accepted(or: ConversationRefusal.self).rest
        guard let record = ConversationRecord(id, fields: fields) else { throw Self.unreadable }
        return record
    }

    private static let unreadable = Refusal(.internal, "the store holds no such conversation")

    // MARK: Direct conversations

    /// Counts the conversation in its creator's partition, then makes it in the conversation's own partition.
    private func createDirect(
        _ creator: UserID, _ other: UserID, _ request: ConversationRequest.Creation, _ writer: Writer
    ) async throws(Refusal) -> ConversationRecord {
        var attempt = 0
        while true {
            guard let id = directID(of: creator, other, attempt: attempt) else {
                throw Refusal(.disconnected(sent: false), changes: true)
            }
            if let record = try await reading.read(id), record.isDirect, record.member(creator) != nil,
                record.member(other) != nil
            {
                return record
            }
            if try await reading.isFull([creator, other], madeBy: nil, besides: id) {
                throw ConversationRefusal.full.refusal
            }
            let reply = try await makeDirect(id, creator, other, request, writer)
            // A backend has made a group of the conversation with this id: the pair gets the next id.
            guard reply.word == "TAKEN", attempt < Self.mostAttempts else { return try record(id, of: reply) }
            attempt += 1
        }
    }

    /// A user answers the direct conversation that another user has begun with them, if it is a request.
    ///
    /// - Returns: whether there is one.
    func answer(
        _ other: UserID, accepts: Bool, of user: UserID, by writer: Writer?
    ) async throws(Refusal) -> Bool {
        for attempt in 0...Self.mostAttempts {
            guard let id = directID(of: user, other, attempt: attempt) else {
                throw Refusal(.disconnected(sent: false), changes: true)
            }
            guard let record = try await reading.read(id) else { return false }
            // A backend has made a group of it.
            guard record.isDirect, let member = record.member(user) else { continue }
            guard record.isRequest(to: member) else { return false }
            if let writer { try await shard.check(writer) }
            let keys = shard.partitions.keys(of: id)
            let call = ScriptCall(
                .answerRequest, in: keys, ["conversation": keys.conversation(id)],
                ["conversation": id, "user": user, "isAccepted": accepts])
            return try await shard.run(call, about: id).word == "OK"
        }
        return false
    }

    private func makeDirect(
        _ id: ConversationID, _ creator: UserID, _ other: UserID, _ request: ConversationRequest.Creation,
        _ writer: Writer
    ) async throws(Refusal) -> ScriptReply {
        let (intent, keys) = (Intent(joining.kind, id), shard.partitions.keys(of: id))
        let make = ScriptCall(
            .direct, in: keys,
            ["unfinished": keys.unfinished, "conversation": keys.conversation(id), "typing": keys.typing(id)],
            [
                "intent": intent.member, "conversation": id, "metadata": request.metadata, "creator": creator,
                "other": other,
            ])
        let home = shard.partitions.keys(of: creator)
        let reserve = ScriptCall(
            .reserve, in: home, ["creator": home.user(creator), "creations": home.creations(creator)],
            ["conversation": id, "most": shard.configuration[Self.mostCreated]], by: writer)
        return try await shard.carryOut(intent) { [unowned self] (run) throws(RedisFailure) in
            let reply = try await run.step(reserve, about: creator)
            return reply.word == "OK" ? try await joining.change(make, run) : .done(reply.value)
        }
    }
}
