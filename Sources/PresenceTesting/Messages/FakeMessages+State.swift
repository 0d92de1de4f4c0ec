import Foundation
import PresenceKit
import PresenceMessages

// The fake's behaviour behind its calls.
extension FakeMessages {
    /// Records a call, then takes time or fails as the test has set.
    func record(_ call: Call, needsConnection: Bool = true) async throws {
        let (delay, error, isOffline) = lock.withLock {
            state.calls.append(call)
            let index = state.failures.firstIndex { $0.matches(call) }
            return (state.delay, index.map { state.failures.remove(at: $0).error }, state.isOffline)
        }
        if let delay { try await clock.sleep(for: delay) }
        try Task.checkCancellation()
        if let error { throw error }
        if needsConnection, isOffline { throw PresenceError(.notConnected, "the test is offline") }
    }

    /// Publishes changed values.
    func publish(_ conversation: String? = nil) {
        if let conversation {
            let news = lock.withLock { state.talks[conversation].map { ($0.feed, shown(conversation)) } }
            if let (feed, messages) = news, feed.value != messages { feed.send(messages) }
        }
        let conversations = lock.withLock {
            (state.lastKnown ?? state.talks).values.map(\.conversation).filter { $0.participants.contains(user) }
                .map(changed)
                .sorted { ($0.listDate, $0.id) > ($1.listDate, $1.id) }
        }
        if list.value != conversations { list.send(conversations) }
    }

    func feed(of conversation: String) -> Feed<[Message]> {
        lock.withLock {
            let talk = anyTalk(conversation)
            state.talks[conversation] = talk
            return talk.feed
        }
    }

    // MARK: With the lock held

    /// The server's conversation; an empty one without participants if it does not exist.
    func anyTalk(_ id: String) -> Talk {
        state.talks[id] ?? Talk(conversation: ChatConversation(id: id, kind: .direct, participants: []))
    }

    /// A conversation as the signed-in user sees it.
    func seen(_ conversation: ChatConversation) -> ChatConversation {
        var seen = conversation
        seen.viewer = user
        return seen
    }

    /// A conversation with pending changes applied.
    func changed(_ conversation: ChatConversation) -> ChatConversation {
        state.changes.filter { $0.conversationId == conversation.id }.reduce(into: conversation) { $1.apply(to: &$0) }
    }

    /// - Throws: `forbidden` if the user is not in the conversation.
    func talk(_ id: String) throws -> Talk {
        guard let talk = state.talks[id], talk.conversation.participants.contains(user) else {
            throw PresenceError(.forbidden, "the user is not in \(id)")
        }
        return talk
    }

    func change(_ id: String, _ body: (inout ChatConversation) throws -> Void) throws {
        var talk = try talk(id)
        try body(&talk.conversation)
        state.version += 1
        talk.conversation.version = state.version
        state.talks[id] = talk
    }

    /// Stores a message as the server would.
    @discardableResult
    func store(_ message: Message) -> Message {
        guard var talk = state.talks[message.conversationId] else {
            preconditionFailure("no conversation \(message.conversationId)")
        }
        var stored = message
        state.version += 1
        state.seconds += 1
        stored.sequence = Int64(talk.log.count) + 1
        stored.version = state.version
        stored.timestamp = Self.beginning + state.seconds
        stored.failure = nil
        stored.advance(to: .sent, at: stored.timestamp)
        talk.log.append(stored)
        talk.conversation.lastMessage = stored
        talk.conversation.lastSequence = stored.sequence!
        talk.conversation.version = state.version
        count(&talk)
        state.talks[message.conversationId] = talk
        return stored
    }

    /// Sends the pending messages.
    func drain(_ id: String) {
        guard !state.isOffline, let waiting = state.talks[id]?.outbox else { return }
        let isMember = state.talks[id]!.conversation.participants.contains(user)
        for message in waiting where message.status == .sending {
            if !isMember { state.refusals.insert(PresenceError(.forbidden, "the user is not in \(id)"), at: 0) }
            if state.refusals.isEmpty {
                state.talks[id]!.outbox.removeAll { $0.id == message.id }
                store(message)
            } else {
                let index = state.talks[id]!.outbox.firstIndex { $0.id == message.id }!
                state.talks[id]!.outbox[index].advance(to: .failed, at: message.timestamp)
                state.talks[id]!.outbox[index].failure = state.refusals.removeFirst()
            }
        }
    }

    /// Applies the user's own marks at once, up to the newest known message.
    func moveOwn(delivered: Int64, read: Int64, in id: String) {
        let last = (state.lastKnown ?? state.talks)[id]?.conversation.lastSequence ?? 0
        move(user, delivered: min(delivered, last), read: min(read, last), in: id)
        guard var known = state.lastKnown?[id] else { return }
        if move(user, delivered: min(delivered, last), read: min(read, last), in: &known) { count(&known) }
        state.lastKnown![id] = known
    }

    /// Applies marks, which only advance; a read message is also delivered.
    func move(_ user: String, delivered: Int64, read: Int64, in id: String) {
        guard var talk = state.talks[id], move(user, delivered: delivered, read: read, in: &talk) else { return }
        state.version += 1
        talk.conversation.version = state.version
        count(&talk)
        state.talks[id] = talk
    }

    /// Returns whether the marks changed.
    private func move(_ user: String, delivered: Int64, read: Int64, in talk: inout Talk) -> Bool {
        let last = talk.conversation.lastSequence
        guard let index = talk.conversation.members.firstIndex(where: { $0.user == user }) else { return false }
        let member = talk.conversation.members[index]
        let newRead = max(member.read ?? 0, min(read, last))
        talk.conversation.members[index].read = newRead
        talk.conversation.members[index].delivered = max(member.delivered, min(delivered, last), newRead)
        return talk.conversation.members[index] != member
    }

    /// Counts the unread messages: those after the user's mark and newest message that are not deleted.
    private func count(_ talk: inout Talk) {
        let own = talk.log.last { $0.senderId == user }?.sequence ?? 0
        let seen = max(talk.conversation.member(user)?.read ?? 0, own)
        let deleted = talk.log.count { $0.isDeleted && $0.sequence! > seen }
        talk.conversation.unreadCount = max(0, Int(talk.conversation.lastSequence - seen) - deleted)
    }

    /// Changes a message in place.
    func changeMessage(
        _ message: String, in conversation: String, _ body: (inout Message) throws -> Void
    ) throws -> Message {
        var talk = try talk(conversation)
        guard let index = talk.log.firstIndex(where: { $0.id == message }) else {
            throw PresenceError(.notFound, "there is no message \(message)")
        }
        try body(&talk.log[index])
        state.version += 1
        talk.log[index].version = state.version
        if index == talk.log.count - 1 { talk.conversation.lastMessage = talk.log[index] }
        count(&talk)
        state.talks[conversation] = talk
        return talk.log[index]
    }

    func shown(_ id: String) -> [Message] {
        guard let talk = (state.lastKnown ?? state.talks)[id] ?? state.talks[id] else { return [] }
        // Messages written on this device are known with and without a connection.
        let outbox = state.talks[id]?.outbox ?? []
        let others = talk.conversation.members.filter { $0.user != user }
        let ownRead = talk.conversation.member(user)?.read ?? 0
        let held = talk.log.dropFirst(talk.hidden).map { stored in
            var message = stored
            let number = stored.sequence!
            let everybody = others.allSatisfy { ($0.read ?? 0) >= number }
            let isThere = others.allSatisfy { $0.delivered >= number }
            let own: MessageStatus = everybody ? .read : isThere ? .delivered : .sent
            let status = stored.senderId == user ? own : number <= ownRead ? .read : .delivered
            message.advance(to: others.isEmpty && stored.senderId == user ? .sent : status, at: stored.timestamp)
            message.readBy = others.filter { $0.user != stored.senderId && ($0.read ?? 0) >= number }.map(\.user)
            return message
        }
        let waiting = state.changes.filter { $0.conversationId == talk.conversation.id }
        return (held + outbox).map { message in waiting.reduce(into: message) { $1.apply(to: &$0) } }
    }
}
