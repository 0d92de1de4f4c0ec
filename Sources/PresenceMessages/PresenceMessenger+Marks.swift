import Foundation
import PresenceKit

// The user's marks of delivered and read messages.
extension PresenceMessenger {
    /// Marks a conversation as read, up to a message or up to the newest known one. The mark is sent once there is a
    /// connection, also by a later process; the furthest mark wins.
    ///
    /// It shows at once and never throws. It returns when the mark is stored, and waits for the disk only. If it cannot
    /// be stored, only this process tries to send it. If no message of the conversation is known yet, `sequence` is
    /// required.
    public func markRead(in conversation: String, upTo sequence: Int64? = nil) async {
        let last = max(talks[conversation]?.newest ?? 0, conversations[conversation]?.lastSequence ?? 0)
        // A process that handles only one push knows no messages. The server cuts the mark to the existing ones.
        let read = last > 0 ? min(sequence ?? last, last) : sequence ?? 0
        guard read > 0 else { return }
        if let own, let index = conversations[conversation]?.members.firstIndex(where: { $0.user == own }) {
            // Shown at once, before the server's confirmation.
            let former = conversations[conversation]!.members[index].read ?? 0
            conversations[conversation]!.members[index].read = max(former, read)
            let unread = Int(max(0, conversations[conversation]!.lastSequence - max(former, read)))
            conversations[conversation]!.unreadCount = min(conversations[conversation]!.unreadCount, unread)
            talks[conversation]?.mark(conversations[conversation]!.members)
            publishList()
            publish(conversation)
        }
        await keep(Ask.Mark(conversation: conversation, delivered: nil, read: read))
    }

    /// Advances the status of another user's message to `delivered` or `read`. Stored like ``markRead(in:upTo:)``.
    public func updateStatus(of message: Message, to status: MessageStatus) async {
        guard let sequence = message.sequence else { return }
        switch status {
        case .read: await markRead(in: message.conversationId, upTo: sequence)
        case .delivered:
            await keep(Ask.Mark(conversation: message.conversationId, delivered: sequence, read: nil))
        case .sending, .sent, .failed: break
        }
    }

    /// The messages of an observed conversation have arrived on this device.
    func arrived(_ conversation: String) {
        guard let talk = talks[conversation], talk.isLive, talk.through > 0 else { return }
        delivered(conversation, talk.through)
    }

    /// Reports messages as delivered, unless the server has that mark. It is not stored, because the next connection
    /// determines it again.
    func delivered(_ conversation: String, _ sequence: Int64) {
        let known = own.flatMap { conversations[conversation]?.member($0)?.delivered } ?? 0
        guard sequence > known else { return }
        add(Ask.Mark(conversation: conversation, delivered: sequence, read: nil), of: own)
    }

    /// Sends a mark, and stores it until the server has it. If that fails, or as long as the user is unknown, only this
    /// process tries to send it.
    func keep(_ mark: Ask.Mark) async {
        do {
            let user = try await ownUser()
            guard isNew(mark, storing: true) else { return pump(Outbox.marks(of: mark.conversation)) }
            try await keep(.mark(mark), of: user)
        } catch let error as PresenceError where error.code == .notConnected {
            add(mark, of: nil)
        } catch {}
    }

    private func add(_ mark: Ask.Mark, of user: String?) {
        if isNew(mark, storing: false) { outbox.unstored(outbox.append(.mark(mark), of: user).id) }
        pump(Outbox.marks(of: mark.conversation))
    }

    /// Whether the server neither has it nor will get it.
    private func isNew(_ mark: Ask.Mark, storing: Bool) -> Bool {
        told[mark.conversation]?.covers(mark) != true && !outbox.covers(.mark(mark), storing: storing)
    }

    func send(_ mark: Ask.Mark) async throws(PresenceError) {
        let _: [Data] = try await ask("mark", mark)
        told[mark.conversation, default: Ask.Mark(conversation: mark.conversation)].raise(to: mark)
    }

    /// The user is no longer in the conversation, so its marks are dropped.
    func dropMarks(of conversation: String) {
        told[conversation] = nil
        let ids = outbox.entries.filter { $0.work.lane == Outbox.marks(of: conversation) }.map(\.id)
        let stored = outbox.remove(ids)
        run { await $0.removeStored(stored) }
    }
}
