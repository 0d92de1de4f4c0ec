import Passwords
import PresenceCore
import PresenceProtocol

/// A message or an edit before it is stored.
struct MessageDraft {
    let conversation: ConversationID
    let from: UserID
    let id: String
    /// JSON, as in `MessageRequest.New`.
    let text: [UInt8]
    let attachments: [UInt8]
    let priority: [UInt8]
    let isEdit: Bool
    let isOfBackend: Bool

    init(
        _ message: MessageRequest.New, from user: UserID, in conversation: ConversationID, isOfBackend: Bool
    ) {
        (self.conversation, from, id, self.isOfBackend) = (conversation, user, message.id, isOfBackend)
        (text, attachments, priority, isEdit) = (message.text, message.attachments, message.priority, false)
    }

    init(_ edit: MessageRequest.Edit, by user: UserID) {
        (conversation, from, id, text) = (edit.conversation, user, edit.message, edit.text)
        (attachments, priority, isEdit, isOfBackend) = ([], [], true, false)
    }

    /// The same for the same request, sent again.
    var digest: Identifier {
        let parts: [[UInt8]] = [
            Array((isEdit ? "edit" : "send").utf8), Array(conversation.string.utf8), Array(from.string.utf8),
            Array(id.utf8), text, attachments, priority,
        ]
        return Identifier(Sodium.sha256(Array(parts.joined(separator: [0x1F]))).prefix(16).hexadecimal)!
    }

    /// The texts that others read.
    var texts: [String] {
        let content = try? RequestObject(json: Array("{\"text\":".utf8) + text + Array("}".utf8)).text("text")
        let reason = priority.isEmpty ? nil : try? RequestObject(json: priority).optionalText("reason")
        return [content, reason].compactMap { $0 }
    }

    func write(to json: inout [UInt8]) {
        JSONWriter.raw("{\"conversation\":", to: &json)
        JSONWriter.string(conversation.string, to: &json)
        JSONWriter.key("message", to: &json)
        JSONWriter.raw("{\"id\":", to: &json)
        JSONWriter.string(id, to: &json)
        JSONWriter.member("from", from.string, to: &json)
        JSONWriter.key("text", to: &json)
        json += text
        if !attachments.isEmpty {
            JSONWriter.key("attachments", to: &json)
            json += attachments
        }
        if !priority.isEmpty {
            JSONWriter.key("priority", to: &json)
            json += priority
        }
        JSONWriter.raw("}", to: &json)
        if isEdit { JSONWriter.raw(",\"edit\":true", to: &json) }
        if isOfBackend { JSONWriter.raw(",\"backend\":true", to: &json) }
        JSONWriter.raw("}", to: &json)
    }
}
