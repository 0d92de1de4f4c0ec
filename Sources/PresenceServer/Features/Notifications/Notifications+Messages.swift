import Foundation
import PresenceCore
import PresenceProtocol

/// Messages for users who are away, among their notifications.
///
/// `Push` decides which users are truly away, once for each conversation until it is read. Each event `push.due`, or `push.held`
/// where the push has to wait, makes one notification, whose id is made from the message: a repeated event changes nothing, unless the message was pushed again in
/// between. The notification replaces an unread one of the same conversation. When a message is deleted, its notification is
/// deleted too (`push-withdraw.lua`).
extension Notifications {
    /// The contents of an event `push.due`.
    private struct Due: Decodable {
        struct Message: Decodable {
            let user: String
            let conversation: String
            let title: String
            let text: String
        }

        let data: Message
    }

    /// The most users who are notified at a time.
    private static let window = 8

    /// The courier, which is on one shard of the process at most, gets every event.
    func notifyOfMessages() {
        shard.feature(EventDelivery.self)?.courier?.consumers.append { [unowned self] in await notify(of: $0, $1) }
    }

    /// - Returns: Whether all their notifications are stored.
    private func notify(of events: [OfferedEvent], _ partition: Int) async -> [OfferedEvent] {
        var left: [OfferedEvent] = []
        let due = events.filter { ["push.due", "push.held"].contains($0.type) }
        await shard.tasks.each(due, window: Self.window) { [self] event in
            if await !notify(of: event, partition) { left.append(event) }
        }
        return left
    }

    private func notify(of event: OfferedEvent, _ partition: Int) async -> Bool {
        guard let new = Self.notification(of: event, partition) else { return true }
        let progress = Progress()
        // A message whose push was held has its notification since then, and gets no other.
        await store(new, for: new.users, pushedAt: event.wasHeld ? 0 : event.at, progress)
        guard progress.failure == nil else { return false }
        guard let seq = event.message, let due = shard.feature(Push.self)?.due,
            let conversation = new.collapse.flatMap({ ConversationID($0.string) })
        else { return true }
        return await due.withdrawIfDeleted(seq, in: conversation, of: new.users[0])
    }

    /// The id of a message's notification. Ids of conversations that servers have made are short enough to be part of
    /// it.
    static func id(ofMessage seq: Int64, in conversation: ConversationID) -> Identifier {
        Identifier(String("message-\(seq)-\(conversation.string)".prefix(Identifier.maximumLength)))!
    }

    /// `nil` for an event that no server has written.
    static func notification(of event: OfferedEvent, _ partition: Int) -> NotificationRequest.New? {
        guard let body = event.body, let due = try? JSONDecoder().decode(Due.self, from: Data(body)).data,
            let user = UserID(due.user), let conversation = Identifier(due.conversation),
            let id = ConversationID(due.conversation)
        else { return nil }
        var new = NotificationRequest.New()
        new.users = [user]
        // In an event of an earlier version the time identifies the message.
        new.id = Self.id(ofMessage: event.message ?? event.at, in: id)
        new.kind = CreationKey("message")
        new.collapse = conversation
        // The sender may have no name yet.
        JSONWriter.string(due.title.isEmpty ? "New message" : due.title, to: &new.title)
        if !due.text.isEmpty { JSONWriter.string(due.text, to: &new.body) }
        JSONWriter.raw("{\"conversation\":", to: &new.data)
        JSONWriter.string(conversation.string, to: &new.data)
        JSONWriter.raw("}", to: &new.data)
        return new
    }
}
