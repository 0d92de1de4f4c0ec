import Foundation
import PresenceKit

// Requests to the server; a repetition is identical.
extension Ask.Send {
    init(_ message: Message, after: Int64) {
        self.init(
            conversation: message.conversationId,
            message: Content(
                id: message.id, text: message.text,
                attachments: message.attachments.isEmpty
                    ? nil
                    : message.attachments.map {
                        Wire.Attachment(
                            id: $0.id, kind: $0.type.rawValue, url: $0.url, thumbnailURL: $0.thumbnailURL,
                            sizeBytes: $0.sizeBytes)
                    },
                priority: message.isPriority ? Wire.Priority(reason: message.priorityReason) : nil),
            after: after)
    }
}

extension PresenceMessenger {
    /// Makes a change; repeating it has no effect.
    ///
    /// - Returns: the changed message, if the change is one of a message.
    func send(_ change: MessageChange) async throws(PresenceError) -> Wire.Message? {
        let conversation = change.conversationId
        switch change.kind {
        case .edit(let message, let text):
            let edit = Ask(conversation: conversation, message: message, text: text)
            return try await ask("editMessage", edit, Wire.OneMessage.self).message
        case .delete(let message):
            let delete = Ask(conversation: conversation, message: message)
            return try await ask("deleteMessage", delete, Wire.OneMessage.self).message
        case .mute(nil): try await set(Ask(conversation: conversation, muted: true))
        case .mute(let until?):
            // The mute may have ended already. Then the request only clears an earlier setting.
            let longest = Message.Rule.maximumMuting / .milliseconds(1)
            let left = Int64(min(longest, max(0, until.timeIntervalSinceNow * 1_000)).rounded())
            try await set(Ask(conversation: conversation, muted: left > 0, muteFor: left > 0 ? left : nil))
        case .unmute: try await set(Ask(conversation: conversation, muted: false))
        case .archive(let isArchived): try await set(Ask(conversation: conversation, archived: isArchived))
        }
        return nil
    }

    private func set(_ settings: Ask) async throws(PresenceError) {
        let _: [Data] = try await ask("conversationSettings", settings)
    }
}
