import PresenceProtocol
import Redis

/// Conversations, and typing in them.
extension ShardLogic {
    func createConversation(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ others: [UserID]
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
        let conversation = conversationID(near: creator)
        let keys = partitions.keys(of: creator)
        write(connection, id) { [self] done in
            store.run(
                .create, keys: [keys.shards, keys.conversation(conversation), keys.user(creator)],
                arguments: [link.incarnation, String(configuration.limits.conversationsPerUser)]
                    + participants.map(\.string),
                lane: .commands, reply: done)
        } succeeded: { [self] _ in
            var payload: [UInt8] = []
            ServerMessageWriter.conversationCreated(
                id: id, .init(id: conversation, participants: participants), to: &payload)
            replies.send(payload, to: connection)
        }
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
