import PresenceCore
import PresenceProtocol
import Redis

/// Making conversations.
extension Conversations {
    func create(_ request: ConversationRequest.Creation, _ context: RequestContext) {
        let creator = context.user
        let others = request.participants.filter { $0 != creator }
        let most = shard.configuration.limits.participants
        guard !others.isEmpty else {
            return shard.refuse(
                .init(
                    id: context.id, code: .validationFailed, message: "a conversation has at least 2 participants",
                    field: "participants"), on: context.connection)
        }
        guard others.count < most else {
            return shard.refuse(
                .init(
                    id: context.id, code: .tooMany, message: "at most \(most) participants in one conversation",
                    field: "participants"), on: context.connection)
        }
        var made: ConversationRecord?
        ask(context) { [self] done in
            func finish(_ result: Result<ConversationRecord, RedisFailure>) {
                if case .success(let record) = result { made = record }
                done(result.map { _ in .array([.status("OK")]) })
            }
            groupMade(by: creator, with: request.key) { [self] result in
                switch result {
                case .failure(let failure): return done(.failure(failure))
                case .success(let id?): return answer(withThe: id, of: creator, refused: done, made: finish)
                case .success(nil): break
                }
                blocks.unless(between: creator, and: others, done: done) { [self] in
                    if others.count == 1, request.name == nil {
                        createDirect(creator, others[0], request, context.writer, refused: done, made: finish)
                    } else {
                        reading.unlessFull([creator] + others, madeBy: creator, done: done) { [self] in
                            createGroup(creator, request, context.writer, refused: done, made: finish)
                        }
                    }
                }
            }
        } succeeded: { [self] _ in
            guard let made else { return }
            answer("conversationCreated", made, context)
        }
    }

    /// Answers with a conversation as the asker sees it.
    func answer(_ type: StaticString, _ record: ConversationRecord, _ context: RequestContext) {
        var payload: [UInt8] = []
        ServerMessageWriter.begin(type, id: context.id, to: &payload)
        JSONWriter.key("conversation", to: &payload)
        payload += record.json(for: context.user, at: shard.clock.redisNow)
        JSONWriter.raw("}", to: &payload)
        shard.replies.send(payload, to: context.connection)
    }

    // MARK: Groups

    private func createGroup(
        _ creator: UserID, _ request: ConversationRequest.Creation, _ writer: Writer, refused: @escaping StoreReply,
        made: @escaping (Result<ConversationRecord, RedisFailure>) -> Void
    ) {
        let participants =
            request.participants.contains(creator) ? request.participants : [creator] + request.participants
        let intent = Intent(joining.kind, groupID(near: creator))
        let first = IntentStep(
            .create, intent,
            keys: {
                [$0.floor, $0.conversation(intent.subject), $0.user(creator), $0.creations(creator)] + writer.keys
            },
            arguments: [
                intent.subject.string, String(shard.configuration.limits.conversationsPerUser),
                request.key?.string ?? "",
                creator.string, text(request.name), text(request.metadata),
            ] + participants.map(\.string)
        ) { [unowned self] words in
            guard words.first?.string == "OK" else { return .end(.array(words)) }
            return .step(joining.look(intent, .array(words)))
        }
        shard.intents.begin(intent, first: first) { [self] result in
            let words = (try? result.get())?.array ?? []
            if words.first?.string == "MADE", let id = words.last?.string.flatMap({ ConversationID($0) }) {
                return answer(withThe: id, of: creator, refused: refused, made: made)
            }
            settle(result, intent.subject, refused: refused, made: made)
        }
    }

    /// The group that this creator made with this key before. A creation that is repeated is answered so even if one of them
    /// blocks the other by now, or has deleted their account.
    private func groupMade(
        by creator: UserID, with key: CreationKey?, done: @escaping (Result<ConversationID?, RedisFailure>) -> Void
    ) {
        guard let key else { return done(.success(nil)) }
        let creations = shard.partitions.keys(of: creator).creations(creator)
        shard.store.command(["HGET", creations, key.string], lane: .commands) { reply in
            done(reply.map { $0.string.flatMap { ConversationID($0) } })
        }
    }

    /// A repeated creation is answered with who is in the conversation now: that may have changed. A creator who has left
    /// it gets the same answer as for a conversation of others.
    private func answer(
        withThe id: ConversationID, of creator: UserID, refused: @escaping StoreReply,
        made: @escaping (Result<ConversationRecord, RedisFailure>) -> Void
    ) {
        reading.read(id) { result in
            switch result {
            // Nothing was changed by this request, whatever came of the reading.
            case .failure: made(.failure(.disconnected(sent: false)))
            case .success(let record):
                guard let record, record.member(creator) != nil else {
                    return refused(.success(.array([.status("FORBIDDEN")])))
                }
                made(.success(record))
            }
        }
    }

    /// A random id in the partition of its creator, so that one script can count and create.
    private func groupID(near creator: UserID) -> ConversationID {
        let partition = shard.partitions.index(of: creator)
        while true {
            let id = ConversationID("g" + shard.randomName())!
            if shard.partitions.index(of: id) == partition { return id }
        }
    }

    // MARK: Direct conversations

    /// It is counted in its creator's partition, then made in its own.
    private func createDirect(
        _ creator: UserID, _ other: UserID, _ request: ConversationRequest.Creation, _ writer: Writer,
        attempt: Int = 0, refused: @escaping StoreReply,
        made: @escaping (Result<ConversationRecord, RedisFailure>) -> Void
    ) {
        guard let id = directID(of: creator, other, attempt: attempt) else {
            return made(.failure(.disconnected(sent: false)))
        }
        reading.read(id) { [self] result in
            switch result {
            case .failure(let failure): return made(.failure(failure))
            case .success(let record):
                if let record, record.isDirect, record.member(creator) != nil, record.member(other) != nil {
                    return made(.success(record))
                }
            }
            reading.unlessFull([creator, other], madeBy: nil, besides: id, done: refused) { [self] in
                makeDirect(id, creator, other, request, writer) { [self] result in
                    // A backend has made a group of it: the next id is theirs.
                    if (try? result.get())?.array?.first?.string == "TAKEN", attempt < Self.mostAttempts {
                        return createDirect(
                            creator, other, request, writer, attempt: attempt + 1, refused: refused, made: made)
                    }
                    settle(result, id, refused: refused, made: made)
                }
            }
        }
    }

    private func makeDirect(
        _ id: ConversationID, _ creator: UserID, _ other: UserID, _ request: ConversationRequest.Creation,
        _ writer: Writer, done: @escaping StoreReply
    ) {
        let intent = Intent(joining.kind, id)
        let make = IntentStep(
            .direct, intent, keys: { [$0.floor, $0.conversation(id), $0.typing(id)] },
            arguments: [id.string, text(request.metadata), creator.string, other.string]
        ) { [unowned self] words in
            guard words.first?.string == "OK" else { return .end(.array(words)) }
            return .step(joining.look(intent, .array(words)))
        }
        let reserve = IntentStep(
            .reserve, Intent(joining.kind, creator),
            keys: { [$0.user(creator), $0.creations(creator)] + writer.keys },
            arguments: [id.string, String(shard.configuration.limits.conversationsPerUser)]
        ) { words in
            words.first?.string == "OK" ? .step(make) : .end(.array(words))
        }
        shard.intents.begin(intent, first: reserve, reply: done)
    }

    private func settle(
        _ result: Result<RedisValue, RedisFailure>, _ id: ConversationID, refused: @escaping StoreReply,
        made: @escaping (Result<ConversationRecord, RedisFailure>) -> Void
    ) {
        guard case .success(let value) = result, let words = value.array, words.first?.string == "OK",
            let record = ConversationRecord(id, fields: words.dropFirst())
        else { return refused(result) }
        made(.success(record))
    }

    private func text(_ json: [UInt8]?) -> String { String(decoding: json ?? [], as: UTF8.self) }
}
