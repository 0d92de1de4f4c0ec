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
        let mark = Ask.Mark(conversation: conversation, delivered: nil, read: read)
        want(mark)
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
        await keep(mark)
    }

    /// Advances the status of another user's message to `delivered` or `read`. Stored like ``markRead(in:upTo:)``.
    public func updateStatus(of message: Message, to status: MessageStatus) async {
        guard let sequence = message.sequence else { return }
        switch status {
        case .read: await markRead(in: message.conversationId, upTo: sequence)
        case .delivered:
            let mark = Ask.Mark(conversation: message.conversationId, delivered: sequence, read: nil)
            want(mark)
            await keep(mark)
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
        want(Ask.Mark(conversation: conversation, delivered: sequence, read: nil))
    }

    private func want(_ mark: Ask.Mark) {
        marks[mark.conversation, default: Ask.Mark(conversation: mark.conversation)].raise(to: mark)
        pumpMarks(mark.conversation)
    }

    /// Sends the newest marks, one request at a time.
    func pumpMarks(_ conversation: String) {
        guard marks[conversation] != nil else { return }
        guard isConnected else { return client.beginConnecting() }
        guard marking.insert(conversation).inserted else { return }
        run { messages in
            var faults = 0
            while messages.isConnected, let mark = messages.marks.removeValue(forKey: conversation) {
                await messages.send(mark, faults: &faults)
            }
            messages.marking.remove(conversation)
        }
    }

    private func send(_ mark: Ask.Mark, faults: inout Int) async {
        let asked = generation
        do throws(PresenceError) {
            let _: [Data] = try await ask("mark", mark)
            faults = 0
            if own != nil, asked == generation { await took(mark) }
        } catch {
            // Marks that the server will never accept are dropped.
            if asked == generation, !error.isPassing { dropMarks(of: mark.conversation) }
            guard error.isPassing, own != nil, error.code != .signedOut else { return }
            marks[mark.conversation, default: mark].raise(to: mark)
            _ = await mayRetry(after: error, asked, faults: &faults)
        }
    }
}
