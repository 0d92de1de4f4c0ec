import Foundation
import PresenceKit
import PresenceMessages

extension FakeMessages: MessageRepository {
    @discardableResult
    public func send(_ message: Message) async throws -> Message {
        try MessageRule.check(
            text: message.text, attachments: message.attachments, priorityReason: message.priorityReason)
        for id in [message.id, message.conversationId] where !PresenceID.isValid(id) {
            throw PresenceError(.invalidID, "not an id: \(id.debugDescription)")
        }
        guard message.id.utf8.count <= 64 else {
            throw PresenceError(.invalidID, "the id of a message has at most 64 bytes: \(message.id)")
        }
        guard message.senderId == user else {
            throw PresenceError(.forbidden, "a message of \(message.senderId) cannot be sent by \(user)")
        }
        try await record(.send(message.text, in: message.conversationId), needsConnection: false)
        let id = message.conversationId
        lock.withLock {
            var talk = anyTalk(id)
            guard !(talk.outbox + talk.log).contains(where: { $0.id == message.id }) else { return }
            talk.outbox.append(message)
            state.talks[id] = talk
            drain(id)
        }
        publish(id)
        return message
    }

    /// Yields a progress of 0.5, takes ``delay``, and stores the file as `https://example.org/upload-N`; a picture gets
    /// a thumbnail. Files that no server accepts are rejected before the call is recorded.
    public func upload(
        _ file: AttachmentFile, to conversation: String
    ) -> AsyncThrowingStream<Upload<MessageAttachment>, any Error> {
        AsyncThrowingStream { elements in
            let size = try file.check()
            elements.yield(.progress(0.5))
            try await self.record(.upload(file, to: conversation))
            try Task.checkCancellation()
            let number = try self.lock.withLock {
                _ = try self.talk(conversation)
                self.state.uploads += 1
                return self.state.uploads
            }
            let isImage = ["image/jpeg", "image/png"].contains(file.contentType)
            let address = "https://example.org/upload-\(number)"
            elements.yield(.progress(1))
            elements.yield(
                .saved(
                    MessageAttachment(
                        id: "upload-\(number)",
                        type: isImage ? .image : file.contentType.hasPrefix("video/") ? .video : .file, url: address,
                        thumbnailURL: isImage ? address + "-small" : nil, sizeBytes: Int64(size))))
        }
    }

    public func messages(in conversation: String) -> PresenceUpdates<MessageList> {
        MessageList.updates(feed(of: conversation).updates)
    }

    public func hasEarlier(in conversation: String) async -> Bool {
        lock.withLock { (state.talks[conversation]?.hidden ?? 0) > 0 }
    }

    @discardableResult
    public func loadEarlier(in conversation: String, limit: Int) async throws -> Bool {
        try await record(.loadEarlier(conversation))
        let hidden = try lock.withLock {
            var talk = try talk(conversation)
            talk.hidden = max(0, talk.hidden - limit)
            state.talks[conversation] = talk
            return talk.hidden
        }
        publish(conversation)
        return hidden > 0
    }

    public func getMessages(in conversation: String, before sequence: Int64?, limit: Int) async throws -> [Message] {
        try await record(.getMessages(conversation, before: sequence))
        return try lock.withLock {
            try talk(conversation).log.filter { $0.sequence! < sequence ?? .max }.suffix(limit)
        }
    }

    public func message(_ id: String) async -> Message? {
        lock.withLock { state.talks.keys.lazy.flatMap { self.shown($0) }.first { $0.id == id } }
    }

    public func updateStatus(of message: Message, to status: MessageStatus) async {
        try? await record(.updateStatus(message.id, status), needsConnection: false)
        guard let sequence = message.sequence else { return }
        let conversation = message.conversationId
        switch status {
        case .read: lock.withLock { moveOwn(delivered: 0, read: sequence, in: conversation) }
        case .delivered: lock.withLock { moveOwn(delivered: sequence, read: 0, in: conversation) }
        case .sending, .sent, .failed: break
        }
        publish(conversation)
    }
}

extension FakeMessages {
    public var conversationList: PresenceUpdates<[ChatConversation]> { list.updates }

    public func conversation(_ id: String) async throws -> ChatConversation {
        try await record(.conversation(id), needsConnection: false)
        return try lock.withLock {
            guard let lastKnown = state.lastKnown else { return try talk(id).conversation }
            guard let held = lastKnown[id]?.conversation, held.participants.contains(user) else {
                throw PresenceError(.notConnected, "the test is offline")
            }
            return changed(held)
        }
    }

    public func directConversation(
        with other: String, metadata: [String: JSONValue]?
    ) async throws -> ChatConversation {
        try await record(.directConversation(other))
        let pair = [user, other].sorted()
        let made = lock.withLock {
            let former = state.talks.values.first {
                $0.conversation.kind == .direct && $0.conversation.participants.sorted() == pair
            }
            return former?.conversation ?? make(.direct, pair, nil, metadata)
        }
        publish(made.id)
        return made
    }

    public func createGroup(
        with users: [String], name: String?, metadata: [String: JSONValue]?, key: String
    ) async throws -> ChatConversation {
        guard PresenceID.isValid(key), key.utf8.count <= 64 else {
            throw PresenceError(.validationFailed, "key must be 1 to 64 bytes of printable ASCII", field: "key")
        }
        // Two users without a group name share their direct conversation.
        if name == nil, let other = users.first(where: { $0 != user }), Set(users + [user]).count == 2 {
            return try await directConversation(with: other, metadata: metadata)
        }
        try await record(.createGroup(users, name: name))
        let made = try lock.withLock {
            if let former = state.keys[key].flatMap({ state.talks[$0] }) { return former.conversation }
            let people = Set(users + [user]).sorted()
            guard people.count <= ChatConversation.maximumParticipants else {
                throw PresenceError(.tooMany, "at most \(ChatConversation.maximumParticipants) people")
            }
            let made = make(.group, people, name, metadata)
            state.keys[key] = made.id
            return made
        }
        publish(made.id)
        return made
    }

    /// With the lock held.
    private func make(
        _ kind: ChatConversation.Kind, _ people: [String], _ name: String?, _ metadata: [String: JSONValue]?
    ) -> ChatConversation {
        state.lastID += 1
        state.version += 1
        var made = ChatConversation(
            id: "made-\(state.lastID)", kind: kind, participants: people, version: state.version, groupName: name,
            owner: kind == .group ? user : nil, viewer: user, createdAt: Self.beginning + state.seconds)
        made.metadata = metadata
        state.talks[made.id] = Talk(conversation: made)
        return made
    }

    public func markRead(in conversation: String, upTo sequence: Int64?) async {
        try? await record(.markRead(conversation, upTo: sequence), needsConnection: false)
        lock.withLock { moveOwn(delivered: 0, read: sequence ?? .max, in: conversation) }
        publish(conversation)
    }

    public func rename(_ conversation: String, to name: String) async throws {
        try await change(.rename(conversation, name), conversation) { talk in
            try Self.checkGroup(talk)
            talk.groupName = name.isEmpty ? nil : name
        }
    }

    public func changeMembers(of conversation: String, add: [String], remove: [String]) async throws {
        try await change(.changeMembers(conversation, add: add, remove: remove), conversation) {
            try self.changeMembers(&$0, add, remove)
        }
    }

    public func leave(_ conversation: String) async throws {
        try await change(.leave(conversation), conversation) { try self.changeMembers(&$0, [], [self.user]) }
    }

    private func changeMembers(_ talk: inout ChatConversation, _ add: [String], _ remove: [String]) throws {
        try Self.checkGroup(talk)
        guard talk.owner == user || remove.allSatisfy({ $0 == user }) else {
            throw PresenceError(.forbidden, "only the owner removes others")
        }
        let new = add.filter { !talk.participants.contains($0) }
        talk.participants = (talk.participants + new).filter { !remove.contains($0) }.sorted()
        guard talk.participants.count <= ChatConversation.maximumParticipants else {
            throw PresenceError(.tooMany, "at most \(ChatConversation.maximumParticipants) people")
        }
        let last = talk.lastSequence
        talk.members += new.map { ChatConversation.Member(user: $0, read: last, delivered: last) }
        talk.members.removeAll { remove.contains($0.user) }
        if let owner = talk.owner, remove.contains(owner) { talk.owner = talk.members.first?.user }
    }

    private static func checkGroup(_ talk: ChatConversation) throws {
        guard talk.isGroup else {
            throw PresenceError(.forbidden, "a direct conversation has neither name nor changes")
        }
    }

    private func change(
        _ call: Call, _ conversation: String, _ body: (inout ChatConversation) throws -> Void
    ) async throws {
        try await record(call)
        try lock.withLock { try change(conversation, body) }
        publish(conversation)
    }
}
