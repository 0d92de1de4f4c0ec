import Foundation
import PresenceKit

// The messages of observed conversations.
extension PresenceMessenger {
    /// Observes the messages of a conversation, oldest first: known messages at once, then the whole list after each
    /// change. It starts with the newest page; ``loadEarlier(in:)`` adds the page before. Messages that this device has
    /// not sent yet are at the end. Each list has the changes since the loop's previous one.
    public nonisolated func messages(in conversation: String) -> PresenceUpdates<MessageList> {
        MessageList.updates(
            loops(
                add: { await $0.begin($1, $2, conversation) }, remove: { $0.end($1, conversation) }))
    }

    private func begin(_ id: UUID, _ loop: Loops<MessageRows>.Loop, _ conversation: String) async {
        await recalled()
        guard !tasks.isClosed else { return loop.finish() }
        let isFirst = messageLoops[conversation]?.isEmpty != false
        if talks[conversation] == nil {
            newTalk(conversation, kept: true)
            messageLoops[conversation] = Loops()
        }
        publish(conversation)
        messageLoops[conversation]!.add(id, loop, rows[conversation])
        // The marks of its members come with the list.
        want(list: true)
        if isFirst { follow(conversation) }
    }

    private func end(_ id: UUID, _ conversation: String) {
        messageLoops[conversation]?.remove(id)
        guard messageLoops[conversation]?.isEmpty == true else { return }
        messageLoops[conversation] = nil
        (talks[conversation], rows[conversation]) = (nil, nil)
        problems[conversation] = nil
        // The client unsubscribes, unless the app observes the typing itself.
        typing[conversation] = nil
    }

    /// Subscribes on the current connection, from where the last subscription ended.
    func follow(_ conversation: String) {
        guard isConnected, following.insert(conversation).inserted else { return }
        run { messages in
            await messages.subscribe(conversation)
            messages.following.remove(conversation)
            // There may be a new connection or a new observer in the meantime.
            if messages.isConnected, let talk = messages.talks[conversation], !talk.isLive,
                messages.problems[conversation] == nil
            {
                messages.follow(conversation)
            }
        }
    }

    private func subscribe(_ conversation: String) async {
        if typing[conversation] == nil {
            // Kept while the messages are observed. Typing and messages share one subscription, so the end of the app's
            // own typing loop must not end it.
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
                let answers = try await askParts("subscribe", Ask(conversations: [cursor]), Wire.Subscribed.self)
                guard asked == generation, talks[conversation]?.identity == talk.identity else { return }
                talks[conversation]!.answered(
                    answers.flatMap { $0.conversations ?? [] }.filter { $0.conversation == conversation })
                problems[conversation] = nil
                publish(conversation)
                keepMessages(of: conversation)
                return arrived(conversation)
            } catch {
                if asked == generation, !error.isPassing { problems[conversation] = error }
                guard await mayRetry(after: error, asked, faults: &faults) else { return }
            }
        }
    }

    /// The user is no longer in a conversation, so the server sends no messages of it.
    func exclude(_ conversation: String) {
        guard talks[conversation] != nil else { return }
        talks[conversation]!.begin()
        problems[conversation] = PresenceError(.forbidden, "the user is not in \(conversation)")
    }

    /// The user is in a conversation again: the subscription continues from where it ended.
    func include(_ conversation: String) {
        guard messageLoops[conversation] != nil, problems[conversation]?.code == .forbidden else { return }
        problems[conversation] = nil
        follow(conversation)
    }

    /// Returns a message that this device knows: one of an observed conversation, one that is being sent, or the newest
    /// of a conversation. It makes no request.
    public func message(_ id: String) async -> Message? {
        await restored()
        if let lane = talks.values.first(where: { $0.number(of: id) != nil })?.id { return shown(id, in: lane) }
        if let work = outbox[id]?.work, work.message != nil { return shown(id, in: work.lane) }
        return conversations.values.first { $0.lastMessage?.id == id }.flatMap { changed($0).lastMessage }
    }

    /// Why a conversation cannot be observed: `forbidden` while the user is not in it.
    public func problem(in conversation: String) -> PresenceError? { problems[conversation] }

    func heard(_ event: Wire.OneMessage) {
        guard talks[event.conversation] != nil else { return }
        talks[event.conversation]!.heard(event.message, version: event.conversationVersion)
        publish(event.conversation)
        keepMessages(of: event.conversation)
        arrived(event.conversation)
    }

    /// The server can no longer continue from here: a new subscription replaces the list by its newest page.
    func reset(_ conversation: String) {
        guard talks[conversation] != nil else { return }
        newTalk(conversation)
        follow(conversation)
    }

    /// - Parameter kept: begins with the messages on this device.
    private func newTalk(_ conversation: String, kept isKept: Bool = false) {
        let own = own ?? ""
        if isKept, let kept = history.messages(of: conversation) {
            talks[conversation] = Talk(id: conversation, own: own, kept: kept)
        } else {
            talks[conversation] = Talk(
                id: conversation, own: own, preview: isKept ? conversations[conversation]?.lastMessage : nil)
        }
        if self.own != nil, let members = conversations[conversation]?.members { talks[conversation]!.mark(members) }
    }

    // MARK: Pages

    /// Whether there may be messages before the first one in ``messages(in:)``.
    public func hasEarlier(in conversation: String) -> Bool { talks[conversation]?.hasEarlier ?? true }

    /// Loads the page before the oldest message in ``messages(in:)``.
    ///
    /// - Parameter limit: 1 to 100.
    /// - Returns: whether there may be more.
    @discardableResult
    public func loadEarlier(in conversation: String, limit: Int = 50) async throws -> Bool {
        guard let oldest = talks[conversation]?.oldest, hasEarlier(in: conversation) else {
            return hasEarlier(in: conversation)
        }
        let asked = Ask(conversation: conversation, before: oldest, limit: limit)
        let page = try Wire.Page.joining(try await call("getMessages", asked))
        talks[conversation]?.apply(page)
        publish(conversation)
        return hasEarlier(in: conversation)
    }

    /// Reads a page of messages, oldest first, without subscribing.
    ///
    /// - Parameters:
    ///   - sequence: the page ends before this message; without it, the newest page.
    ///   - limit: 1 to 100.
    public func getMessages(
        in conversation: String, before sequence: Int64? = nil, limit: Int = 50
    ) async throws -> [Message] {
        let asked = Ask(conversation: conversation, before: sequence, limit: limit)
        let page = try Wire.Page.joining(try await call("getMessages", asked))
        return page.messages.map { Message($0, in: conversation) }
    }
}
