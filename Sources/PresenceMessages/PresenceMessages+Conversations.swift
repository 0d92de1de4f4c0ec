import Foundation
import PresenceKit

// The list of conversations, and what can be done with one.
extension PresenceMessages {
    /// The own user's conversations, newest first: the whole list as soon as it is known, then after each change.
    public nonisolated var conversationList: PresenceUpdates<[ChatConversation]> {
        PresenceUpdates(
            LoopSequence(
                begin: { await self.begin($0, $1) }, end: { await self.end($0) }))
    }

    private func begin(_ id: UUID, _ loop: AsyncStream<[ChatConversation]>.Continuation) {
        listLoops.add(id, loop, isListKnown ? shownList : nil)
        client.connect()
        want(list: true)
    }

    private func end(_ id: UUID) { listLoops.remove(id) }

    /// From now on the list is followed, on every connection: there is no way to leave it.
    func want(list: Bool) {
        guard list, !isListWanted else { return }
        isListWanted = true
        self.list()
    }

    /// Subscribes to the list on the present connection.
    func list() {
        guard isConnected, !isListing else { return }
        isListing = true
        Task {
            var asked = self.generation
            repeat {
                asked = self.generation
                await self.subscribeToList()
            } while self.isConnected && asked != self.generation
            self.isListing = false
        }
    }

    private func subscribeToList() async {
        var faults = 0
        while true {
            let asked = generation
            do throws(PresenceError) {
                let known = conversations.mapValues(\.version)
                let parts: [Data] = try await client.ask("subscribe", Ask.List(known: known))
                let answers = try parts.map { (data) throws(PresenceError) in try Wire.read(Wire.Subscribed.self, data)
                }
                guard asked == generation else { return }
                for conversation in answers.flatMap({ $0.conversationList ?? [] }) { take(conversation) }
                isListKnown = true
                return publishList()
            } catch {
                guard await mayRetry(after: error, asked, faults: &faults) else { return }
            }
        }
    }

    /// Takes a conversation as it was told, if that is news.
    @discardableResult
    func take(_ wire: Wire.Conversation) -> ChatConversation? {
        guard wire.version > versions[wire.id] ?? 0 else { return conversations[wire.id] }
        versions[wire.id] = wire.version
        guard let conversation = ChatConversation(wire, of: own) else {
            conversations[wire.id] = nil
            dropMarks(of: wire.id)
            exclude(wire.id)
            publishList()
            return nil
        }
        conversations[wire.id] = conversation
        if let own { talks[wire.id]?.mark(conversation.members, own: own) }
        publishList()
        publish(wire.id)
        delivered(wire.id, conversation.lastSequence)
        include(wire.id)
        return conversation
    }

    /// A conversation as it is now: the held one, if the list is followed; without a connection, as it was last known.
    ///
    /// - Throws: `forbidden` if the user is not in it, or it does not exist; `notConnected` if nothing is known of it.
    public func conversation(_ id: String) async throws -> ChatConversation {
        if isListWanted || !isConnected, let held = conversations[id] { return changed(held) }
        let answer = try await client.call("getConversation", Ask.One(conversation: id), Wire.OneConversation.self)
        return try taken(answer)
    }

    private func taken(_ answer: Wire.OneConversation) throws(PresenceError) -> ChatConversation {
        take(answer.conversation)
        let told = conversations[answer.conversation.id] ?? ChatConversation(answer.conversation, of: own)
        guard let conversation = told else {
            throw PresenceError(.forbidden, "the user is no longer in \(answer.conversation.id)")
        }
        return changed(conversation)
    }

    // MARK: Making them

    /// The conversation of the own user with one other: each pair has one, whichever of both asks.
    public func directConversation(
        with user: String, metadata: [String: JSONValue]? = nil
    ) async throws -> ChatConversation {
        try await create(Ask.Create(participants: [user], name: nil, key: UUID().uuidString, metadata: metadata))
    }

    /// Makes a group of the own user and others.
    ///
    /// - Parameters:
    ///   - name: what it is called; needed for a group of two, which would be their direct conversation without.
    ///   - key: 1 to 64 bytes, the user's own: the same key finds the same group again.
    public func createGroup(
        with users: [String], name: String? = nil, metadata: [String: JSONValue]? = nil,
        key: String = UUID().uuidString
    ) async throws -> ChatConversation {
        try await create(Ask.Create(participants: users, name: name, key: key, metadata: metadata))
    }

    /// Asked for again if its outcome is not known: the key, or the pair, makes it one.
    private func create(_ wanted: Ask.Create) async throws -> ChatConversation {
        for _ in 0..<2 {
            do {
                return try taken(try await client.call("createConversation", wanted, Wire.OneConversation.self))
            } catch let error as PresenceError {
                guard error.outcomeUnknown, error.code == .connectionLost else { throw error }
            }
        }
        return try taken(try await client.call("createConversation", wanted, Wire.OneConversation.self))
    }

    // MARK: Changing them, which needs a connection

    /// Names a group anew.
    public func rename(_ conversation: String, to name: String) async throws {
        try await change("renameConversation", Ask.Rename(conversation: conversation, name: name))
    }

    /// Adds people to a group, and removes some: members add, the owner removes, everybody may remove themselves.
    public func changeMembers(of conversation: String, add: [String] = [], remove: [String] = []) async throws {
        try await change("changeMembers", Ask.Members(conversation: conversation, add: add, remove: remove))
    }

    /// Leaves a group.
    public func leave(_ conversation: String) async throws {
        try await changeMembers(of: conversation, remove: [ownUser()])
    }

    private func change(_ type: String, _ members: some Encodable & Sendable) async throws {
        _ = try await client.call(type, members)
    }
}
