import PresenceProtocol
import Redis

/// Conversations, and typing in them.
extension ShardLogic {
    func createConversation(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ others: [UserID], _ key: CreationKey?
    ) {
        let creator = session.user.id
        let participants = others.contains(creator) ? others : [creator] + others
        guard participants.count >= 2 else {
            return refuse(
                .init(
                    id: id, code: .validationFailed, message: "a conversation has at least 2 participants",
                    field: "participants"), on: connection)
        }
        guard participants.count <= configuration.limits.participants else {
            return refuse(
                .init(
                    id: id, code: .tooMany,
                    message: "at most \(configuration.limits.participants) participants in one conversation",
                    field: "participants"), on: connection)
        }
        let conversation = ServerMessage.Conversation(id: conversationID(near: creator), participants: participants)
        write(connection, id) { [self] done in
            create(conversation, by: creator, key, done: done)
        } succeeded: { [self] words in
            var payload: [UInt8] = []
            ServerMessageWriter.conversationCreated(id: id, Self.madeBefore(words) ?? conversation, to: &payload)
            replies.send(payload, to: connection)
        }
    }

    /// `done` gets `OK`, and after it the id and the participants of the one that was made with this key before.
    private func create(
        _ conversation: ServerMessage.Conversation, by creator: UserID, _ key: CreationKey?,
        done: @escaping StoreReply
    ) {
        let keys = partitions.keys(of: creator)
        store.run(
            .create,
            keys: [
                keys.shards, keys.conversation(conversation.id), keys.user(creator), keys.creations(creator),
            ],
            arguments: [
                link.incarnation, String(configuration.limits.conversationsPerUser), conversation.id.string,
                key?.string ?? "",
            ] + conversation.participants.map(\.string),
            lane: .commands
        ) { [self] result in
            guard case .success(let value) = result, let words = value.array, words.first?.string == "MADE",
                let id = words.last?.string.flatMap(ConversationID.init)
            else { return done(result) }
            answer(withThe: id, of: creator, done: done)
        }
    }

    /// A repeated creation is answered with who is in the conversation now: a backend may have changed that. To a
    /// creator who is no longer in it the conversation looks like any other that is not theirs.
    private func answer(withThe id: ConversationID, of creator: UserID, done: @escaping StoreReply) {
        let keys = partitions.keys(of: id)
        store.run(.conversation, keys: [keys.conversation(id), keys.typing(id)], arguments: [], lane: .commands) {
            result in
            switch result {
            // Nothing was changed by this request, whatever came of the reading.
            case .failure: done(.failure(.disconnected(sent: false)))
            case .success(let value):
                let participants = (value.array ?? []).dropFirst(2).compactMap(\.string).sorted()
                guard participants.contains(creator.string) else {
                    return done(.success(.array([.status("FORBIDDEN")])))
                }
                done(.success(.array((["OK", id.string] + participants).map(RedisValue.status))))
            }
        }
    }

    private static func madeBefore(_ words: [RedisValue]) -> ServerMessage.Conversation? {
        let ids = words.dropFirst().compactMap { $0.string.flatMap(Identifier.init) }
        return ids.first.map { .init(id: $0, participants: Array(ids.dropFirst())) }
    }

    /// A random id in the partition of its creator, so that one script can count and create.
    private func conversationID(near creator: UserID) -> ConversationID {
        let partition = partitions.index(of: creator)
        while true {
            let id = ConversationID(randomName())!
            if partitions.index(of: id) == partition { return id }
        }
    }

    func type(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ conversation: ConversationID, _ isTyping: Bool
    ) {
        write(connection, id) { [self] done in
            typing.set(isTyping, in: conversation, by: session) { done($0 ?? .success(.array([.status("OK")]))) }
        } succeeded: { [self] _ in
            replies.ok(id, to: connection)
        }
    }
}
