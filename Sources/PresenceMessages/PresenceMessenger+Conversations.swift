import Foundation
import PresenceKit

// The list of conversations, and actions on them.
extension PresenceMessenger {
    /// Observes the user's conversations, newest first: the whole list as soon as it is known, then after each change.
    public nonisolated var conversationList: PresenceUpdates<[ChatConversation]> {
        PresenceUpdates(
            loops(
                add: { messages, id, loop in
                    messages.listLoops.add(id, loop, messages.isListKnown ? messages.shownList : nil)
                    messages.client.beginConnecting()
                    messages.want(list: true)
                }, remove: { $0.listLoops.remove($1) }))
    }

    func want(list: Bool) {
        guard list, !isListWanted else { return }
        isListWanted = true
        self.list()
    }

    /// Subscribes to the list on the current connection.
    func list() {
        guard isConnected, !isListing else { return }
        isListing = true
        run { messages in
            await messages.runForConnection { await $0.subscribeToList() }
            messages.isListing = false
        }
    }

    private func subscribeToList() async {
        var faults = 0
        while true {
            let asked = generation
            do throws(PresenceError) {
                let known = conversations.mapValues(\.version)
                let answers = try await askParts(
                    "subscribe", Ask(conversationList: true, known: known), Wire.Subscribed.self)
                guard asked == generation else { return }
                for conversation in answers.flatMap({ $0.conversationList ?? [] }) { apply(conversation) }
                (isListKnown, isListStale) = (true, false)
                keep(history.completeList())
                return publishList()
            } catch {
                guard await mayRetry(after: error, asked, faults: &faults) else { return }
            }
        }
    }

    /// Applies a conversation from the server, if it is newer.
    @discardableResult
    func apply(_ wire: Wire.Conversation) -> ChatConversation? {
        guard wire.version > versions[wire.id] ?? 0 else { return conversations[wire.id] }
        versions[wire.id] = wire.version
        guard let conversation = ChatConversation(wire, of: own) else {
            conversations[wire.id] = nil
            dropMarks(of: wire.id)
            keep(history.remove(wire.id))
            exclude(wire.id)
            publishList()
            return nil
        }
        conversations[wire.id] = conversation
        keep(history.update(conversation))
        if own != nil { talks[wire.id]?.mark(conversation.members) }
        publishList()
        publish(wire.id)
        delivered(wire.id, conversation.lastSequence)
        include(wire.id)
        return conversation
    }

    /// Returns a conversation: the value in memory if the list is observed, otherwise the server's; without a
    /// connection the last known value.
    ///
    /// - Throws: `forbidden` if the user is not in it, or it does not exist; `notConnected` if there is no known value.
    public func conversation(_ id: String) async throws -> ChatConversation {
        await recalled()
        if isListWanted || !isConnected, let held = conversations[id] { return changed(held) }
        let answer = try await call("getConversation", Ask(conversation: id), Wire.OneConversation.self)
        return try taken(answer)
    }

    private func taken(_ answer: Wire.OneConversation) throws(PresenceError) -> ChatConversation {
        apply(answer.conversation)
        let told = conversations[answer.conversation.id] ?? ChatConversation(answer.conversation, of: own)
        guard let conversation = told else {
            throw PresenceError(.forbidden, "the user is no longer in \(answer.conversation.id)")
        }
        return changed(conversation)
    }

    // MARK: Creating

    /// Returns the direct conversation with another user, and creates it if needed. Each pair of users has only one.
    public func directConversation(
        with user: String, metadata: [String: JSONValue]? = nil
    ) async throws -> ChatConversation {
        try await create(Ask(participants: [user], key: UUID().uuidString, metadata: metadata))
    }

    /// Creates a group of the signed-in user and others.
    ///
    /// - Parameters:
    ///   - name: the name of the group. Required for a group of two, which would otherwise be their direct
    ///     conversation.
    ///   - key: 1 to 64 bytes, unique for the user. A repeated call with the same key returns the same group.
    public func createGroup(
        with users: [String], name: String? = nil, metadata: [String: JSONValue]? = nil,
        key: String = UUID().uuidString
    ) async throws -> ChatConversation {
        try await create(Ask(participants: users, name: name, key: key, metadata: metadata))
    }

    /// Repeats the request if its outcome is unknown. The key of a group, or the pair of users, prevents a second
    /// conversation.
    private func create(_ wanted: Ask) async throws -> ChatConversation {
        await restored()
        // A repetition must not be the next user's.
        let user = userNumber
        for _ in 0..<2 {
            do {
                return try taken(try await call("createConversation", wanted, Wire.OneConversation.self, of: user))
            } catch let error as PresenceError {
                guard error.outcomeUnknown, error.code == .connectionLost else { throw error }
            }
        }
        return try taken(try await call("createConversation", wanted, Wire.OneConversation.self, of: user))
    }

    // MARK: Changes that need a connection

    /// Renames a group.
    public func rename(_ conversation: String, to name: String) async throws {
        _ = try await call("renameConversation", Ask(conversation: conversation, name: name))
    }

    /// Adds users to a group and removes users from it. Members can add, the owner can remove, and each member can
    /// remove themselves.
    public func changeMembers(of conversation: String, add: [String] = [], remove: [String] = []) async throws {
        _ = try await call("changeMembers", Ask(conversation: conversation, add: add, remove: remove))
    }

    /// Leaves a group.
    public func leave(_ conversation: String) async throws {
        try await changeMembers(of: conversation, remove: [ownUser()])
    }
}
