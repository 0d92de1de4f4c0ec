import Foundation
import PresenceCore
import PresenceProtocol

/// Messages for people who are away, among their notifications.
///
/// Who is truly away is decided by `Push`, once for each conversation until it is read. Each such event makes one notification,
/// whose id says of which message: so one that comes twice changes nothing, unless the message was told anew in between. It
/// replaces an unread one of the same conversation. When the message is deleted, so is the notification (`push-withdraw.lua`).
extension Notifications {
    /// What an event `push.due` says.
    private struct Due: Decodable {
        struct Message: Decodable {
            let user: String
            let conversation: String
            let title: String
            let text: String
        }

        let data: Message
    }

    /// Users who are notified at a time.
    private static let window = 8

    /// One shard of a process may be the courier, which hears of every event.
    func notifyOfMessages() {
        shard.feature(Webhooks.self)?.courier?.consumers.append { [unowned self] events, partition, done in
            var failed = false
            let due = events.filter { $0.type == "push.due" }
            BoundedConcurrency(due, window: Self.window) { [self] event, next in
                notify(of: event, partition) { isDone in
                    if !isDone { failed = true }
                    next()
                }
            } done: {
                done(!failed)
            }
        }
    }

    private func notify(of event: WebhookEvent, _ partition: Int, done: @escaping (Bool) -> Void) {
        guard let new = Self.notification(of: event, partition) else { return done(true) }
        let json = String(decoding: new.json, as: UTF8.self)
        let progress = Progress()
        store(new, json, for: new.users, told: event.at, progress) { [self] in
            guard progress.result.failure == nil else { return done(false) }
            guard let seq = Self.message(of: event), let due = shard.feature(Push.self)?.due,
                let conversation = new.collapse.flatMap({ ConversationID($0.string) })
            else { return done(true) }
            due.withdrawIfDeleted(seq, in: conversation, of: new.users[0], done: done)
        }
    }

    /// `nil` in what an earlier version has offered.
    private static func message(of event: WebhookEvent) -> Int64? { event.about.flatMap { Int64($0) } }

    /// The id of a message's notification. Those of conversations that servers have made are short enough for it.
    static func id(ofMessage seq: Int64, in conversation: ConversationID) -> Identifier {
        Identifier(String("message-\(seq)-\(conversation.string)".prefix(Identifier.maximumLength)))!
    }

    /// `nil` for what no server has written.
    static func notification(of event: WebhookEvent, _ partition: Int) -> NotificationRequest.New? {
        guard let body = event.body, let due = try? JSONDecoder().decode(Due.self, from: Data(body)).data,
            let user = UserID(due.user), let conversation = Identifier(due.conversation),
            let id = ConversationID(due.conversation)
        else { return nil }
        var new = NotificationRequest.New()
        new.users = [user]
        // Of what an earlier version has offered, when it was told says which it is.
        new.id = Self.id(ofMessage: message(of: event) ?? event.at, in: id)
        new.kind = CreationKey("message")
        new.collapse = conversation
        // Who has no name yet has written all the same.
        JSONWriter.string(due.title.isEmpty ? "New message" : due.title, to: &new.title)
        if !due.text.isEmpty { JSONWriter.string(due.text, to: &new.body) }
        JSONWriter.raw("{\"conversation\":", to: &new.data)
        JSONWriter.string(conversation.string, to: &new.data)
        JSONWriter.raw("}", to: &new.data)
        return new
    }
}
