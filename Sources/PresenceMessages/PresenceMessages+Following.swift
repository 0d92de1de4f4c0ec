import Foundation
import PresenceKit

// The messages of conversations that somebody looks at.
extension PresenceMessages {
    /// The messages of a conversation, oldest first: what is held at once, then the whole list after each change. It begins
    /// with the newest page; ``loadEarlier(in:)`` adds the one before. What this device has not sent yet stands at the end.
    /// Each list says what is different from the one that the loop got before.
    public nonisolated func messages(in conversation: String) -> PresenceUpdates<MessageList> {
        MessageList.updates(
            LoopSequence<[Message]>(
                begin: { await self.begin($0, $1, conversation) }, end: { await self.end($0, conversation) }))
    }

    private func begin(_ id: UUID, _ loop: AsyncStream<[Message]>.Continuation, _ conversation: String) async {
        await restored()
        let isFirst = messageLoops[conversation]?.isEmpty != false
        if talks[conversation] == nil { talks[conversation] = Talk(id: conversation) }
        if let members = conversations[conversation]?.members, let own { talks[conversation]!.mark(members, own: own) }
        messageLoops[conversation, default: Loops()].add(id, loop, shown(conversation))
        client.connect()
        // Its members' marks come with the list.
        want(list: true)
        if isFirst { follow(conversation) }
    }

    private func end(_ id: UUID, _ conversation: String) {
        messageLoops[conversation]?.remove(id)
        guard messageLoops[conversation]?.isEmpty == true else { return }
        messageLoops[conversation] = nil
        talks[conversation] = nil
        problems[conversation] = nil
        // The client unsubscribes if nobody else looks at it.
        typing[conversation] = nil
    }

    /// Subscribes on the present connection, from where the last one ended.
    func follow(_ conversation: String) {
        guard isConnected, following.insert(conversation).inserted else { return }
        Task {
            await self.subscribe(conversation)
            self.following.remove(conversation)
            // There may be another connection, or somebody may have begun to look anew meanwhile.
            if self.isConnected, let talk = self.talks[conversation], !talk.isLive,
                self.problems[conversation] == nil
            {
                self.follow(conversation)
            }
        }
    }

    private func subscribe(_ conversation: String) async {
        if typing[conversation] == nil {
            // Held as long as the messages are followed, so that the end of an app's own typing loop does not end the
            // subscription, which is one for both.
            do throws(PresenceError) {
                let observation = try await client.observeTyping(in: conversation)
                guard talks[conversation] != nil else { return }
                typing[conversation] = observation
            } catch {
                problems[conversation] = error
                return
            }
        }
        var faults = 0
        while let talk = talks[conversation] {
            let (cursor, asked) = (talk.cursor, generation)
            do throws(PresenceError) {
                let parts: [Data] = try await client.ask("subscribe", Ask.Follow(conversations: [cursor]))
                let answers = try parts.map { (data) throws(PresenceError) in try Wire.read(Wire.Subscribed.self, data)
                }
                guard asked == generation, talks[conversation]?.identity == talk.identity else { return }
                talks[conversation]!.answered(
                    answers.flatMap { $0.conversations ?? [] }.filter { $0.conversation == conversation })
                problems[conversation] = nil
                publish(conversation)
                return arrived(conversation)
            } catch {
                if asked == generation, !error.isPassing { problems[conversation] = error }
                guard await mayRetry(after: error, asked, faults: &faults) else { return }
            }
        }
    }

    /// The user is not in a conversation any more: the server tells no messages of it.
    func exclude(_ conversation: String) {
        guard talks[conversation] != nil else { return }
        talks[conversation]!.begin()
        problems[conversation] = PresenceError(.forbidden, "the user is not in \(conversation)")
    }

    /// The user is in a conversation: what could not be followed while they were not is followed now, from where it was left.
    func include(_ conversation: String) {
        guard messageLoops[conversation] != nil, problems[conversation]?.code == .forbidden else { return }
        problems[conversation] = nil
        follow(conversation)
    }

    /// Why a conversation cannot be followed: `forbidden` if the user is not in it, until they are.
    public func problem(in conversation: String) -> PresenceError? { problems[conversation] }

    func heard(_ event: Wire.OneMessage) {
        guard talks[event.conversation] != nil else { return }
        talks[event.conversation]!.heard(event.message, version: event.conversationVersion)
        publish(event.conversation)
        arrived(event.conversation)
    }

    /// The server no longer knows what comes next: it is asked anew, and its newest page replaces what is held.
    func reset(_ conversation: String) {
        guard talks[conversation] != nil else { return }
        talks[conversation] = Talk(id: conversation)
        if let members = conversations[conversation]?.members, let own { talks[conversation]!.mark(members, own: own) }
        follow(conversation)
    }

    // MARK: Pages

    /// Whether there may be messages before those that ``messages(in:)`` shows.
    public func hasEarlier(in conversation: String) -> Bool { talks[conversation]?.hasEarlier ?? true }

    /// Adds the page before the oldest message that ``messages(in:)`` shows.
    ///
    /// - Parameter limit: 1 to 100.
    /// - Returns: whether there may be more.
    @discardableResult
    public func loadEarlier(in conversation: String, limit: Int = 50) async throws -> Bool {
        guard let oldest = talks[conversation]?.oldest, hasEarlier(in: conversation) else {
            return hasEarlier(in: conversation)
        }
        let asked = Ask.Page(conversation: conversation, before: oldest, limit: limit)
        let page = try Wire.Page.joining(try await client.call("getMessages", asked))
        talks[conversation]?.take(page)
        publish(conversation)
        return hasEarlier(in: conversation)
    }

    /// A page of messages, oldest first, without following them.
    ///
    /// - Parameters:
    ///   - sequence: those before it; the newest without.
    ///   - limit: 1 to 100.
    public func getMessages(
        in conversation: String, before sequence: Int64? = nil, limit: Int = 50
    ) async throws -> [Message] {
        let asked = Ask.Page(conversation: conversation, before: sequence, limit: limit)
        let page = try Wire.Page.joining(try await client.call("getMessages", asked))
        return page.messages.map { Message($0, in: conversation) }
    }
}
