import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Conversations: who takes part in them.
final class Conversations: Feature {
    static let plan = FeaturePlan(
        name: "conversations", isOptional: false, scripts: [.create, .participants],
        keys: [KeyFamily(name: "creations", isPassing: false, type: "hash")])

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.request(
            "createConversation", price: { RequestPrice.ids($0.participants.count) },
            decode: { (members, _) throws(DecodingFailure) in try ClientRequest.createConversation(members) }
        ) { [unowned self] request, context in
            createConversation(context.connection, context.session, context.id, request.participants, request.key)
        }
        registry.route("PUT", "/v1/conversations/{id}/participants") { [unowned self] (call) throws(DecodingFailure) in
            try setParticipants(call)
        }
        registry.route("DELETE", "/v1/conversations/{id}/participants") { [unowned self] call in
            call.write {
                setParticipants([], of: call.ids[0], done: $0)
            } succeeded: { _ in
                HTTPResponse(status: 204)
            }
        }
    }

    // MARK: Backends

    private func setParticipants(_ call: HTTPCall) throws(DecodingFailure) {
        let participants = try RequestBody.participants(call.body)
        let most = shard.configuration.limits.participants
        guard participants.count >= 2 else {
            return call.refuse(422, .validationFailed, "a conversation has at least 2 participants", "participants")
        }
        guard participants.count <= most else {
            return call.refuse(422, .tooMany, "at most \(most) participants in one conversation", "participants")
        }
        let id = call.ids[0]
        call.write {
            setParticipants(participants, of: id, done: $0)
        } succeeded: { _ in
            var json = Array(#"{"conversation":{"id":"#.utf8)
            JSONWriter.string(id.string, to: &json)
            json += Array(#","participants":"#.utf8)
            JSONWriter.identifiers(participants, to: &json)
            return .json(200, json + Array("}}".utf8))
        }
    }

    private func setParticipants(_ participants: [UserID], of id: ConversationID, done: @escaping StoreReply) {
        let keys = shard.partitions.keys(of: id)
        shard.store.run(
            .participants, keys: [keys.shards, keys.floor, keys.conversation(id), keys.typing(id)],
            arguments: [keys.events, shard.link.incarnation, id.string] + participants.map(\.string),
            lane: .commands, reply: done)
    }

    // MARK: Users

    func createConversation(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ others: [UserID], _ key: CreationKey?
    ) {
        let creator = session.user.id
        let participants = others.contains(creator) ? others : [creator] + others
        guard participants.count >= 2 else {
            return shard.refuse(
                .init(
                    id: id, code: .validationFailed, message: "a conversation has at least 2 participants",
                    field: "participants"), on: connection)
        }
        guard participants.count <= shard.configuration.limits.participants else {
            return shard.refuse(
                .init(
                    id: id, code: .tooMany,
                    message: "at most \(shard.configuration.limits.participants) participants in one conversation",
                    field: "participants"), on: connection)
        }
        let conversation = ServerMessage.Conversation(id: conversationID(near: creator), participants: participants)
        shard.write(connection, id) { [self] done in
            create(conversation, by: creator, key, done: done)
        } succeeded: { [self] words in
            var payload: [UInt8] = []
            ServerMessageWriter.conversationCreated(id: id, Self.madeBefore(words) ?? conversation, to: &payload)
            shard.replies.send(payload, to: connection)
        }
    }

    /// `done` gets `OK`, and after it the id and the participants of the one that was made with this key before.
    private func create(
        _ conversation: ServerMessage.Conversation, by creator: UserID, _ key: CreationKey?,
        done: @escaping StoreReply
    ) {
        let keys = shard.partitions.keys(of: creator)
        shard.store.run(
            .create,
            keys: [
                keys.shards, keys.conversation(conversation.id), keys.user(creator), keys.creations(creator),
            ],
            arguments: [
                shard.link.incarnation, String(shard.configuration.limits.conversationsPerUser), conversation.id.string,
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

    /// A repeated creation is answered with who is in the conversation now: a backend may have changed that. A
    /// creator who has left it gets the same answer as for a conversation of others.
    private func answer(withThe id: ConversationID, of creator: UserID, done: @escaping StoreReply) {
        let keys = shard.partitions.keys(of: id)
        shard.store.run(.conversation, keys: [keys.conversation(id), keys.typing(id)], arguments: [], lane: .commands) {
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
        let partition = shard.partitions.index(of: creator)
        while true {
            let id = ConversationID(shard.randomName())!
            if shard.partitions.index(of: id) == partition { return id }
        }
    }
}

extension PartitionKeys {
    /// Which conversation a user made with which key.
    func creations(_ id: UserID) -> String { name + ":creations:" + id.string }
}
