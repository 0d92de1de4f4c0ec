import PresenceCore
import PresenceProtocol

/// A message as Redis has it (`Scripts/message-lib.lua`).
struct StoredMessage {
    struct Edit {
        let at: Timestamp
        /// The text that was replaced, as JSON.
        let text: ArraySlice<UInt8>
    }

    let id: String
    let seq: Int64
    /// The number of the last change of the message.
    let version: Int64
    let at: Timestamp
    let from: String
    /// When the text was last edited; 0: never.
    let editedAt: Timestamp
    let editCount: Int64
    let deletedAt: Timestamp
    /// The user who deleted the message; `-` if a backend did, or if it is not deleted.
    let deletedBy: String
    /// JSON; empty if the message has none.
    let text: ArraySlice<UInt8>
    let attachments: ArraySlice<UInt8>
    let priority: ArraySlice<UInt8>
    let edits: [Edit]

    /// `nil` for text that no script has written.
    init?(_ bytes: ArraySlice<UInt8>) {
        var parts = Pieces(bytes, separator: 0x1F)
        guard let head = parts.next(), let text = parts.next(), let attachments = parts.next(),
            let priority = parts.next()
        else { return nil }
        var words = Pieces(head, separator: 0x20)
        guard let id = words.text(), let seq = words.number(), let version = words.number(), let at = words.number(),
            let from = words.text(), let editedAt = words.number(), let editCount = words.number(),
            let deletedAt = words.number(), let deletedBy = words.text(), words.next() == nil
        else { return nil }
        (self.id, self.from, self.deletedBy) = (id, from, deletedBy)
        (self.seq, self.version, self.at) = (seq, version, at)
        (self.editedAt, self.editCount, self.deletedAt) = (editedAt, editCount, deletedAt)
        (self.text, self.attachments, self.priority) = (text, attachments, priority)
        var edits: [Edit] = []
        while let part = parts.next() {
            var pieces = Pieces(part, separator: 0x20)
            if let at = pieces.number(), let text = pieces.rest { edits.append(Edit(at: at, text: text)) }
        }
        self.edits = edits
    }

    init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// The time of the message's last change.
    var changedAt: Timestamp { max(at, editedAt, deletedAt) }

    /// Appends the Message object of the protocol.
    func write(to json: inout [UInt8], withEdits: Bool = true) {
        JSONWriter.raw("{\"id\":", to: &json)
        JSONWriter.string(id, to: &json)
        JSONWriter.member("seq", seq, to: &json)
        JSONWriter.member("version", version, to: &json)
        JSONWriter.member("from", from, to: &json)
        JSONWriter.member("at", at, to: &json)
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
        if editedAt > 0 { JSONWriter.member("editedAt", editedAt, to: &json) }
        let edits = withEdits ? self.edits : []
        for (index, edit) in edits.enumerated() {
            JSONWriter.raw(index == 0 ? ",\"edits\":[" : ",", to: &json)
            JSONWriter.raw("{\"text\":", to: &json)
            json += edit.text
            JSONWriter.member("at", edit.at, to: &json)
            JSONWriter.raw("}", to: &json)
        }
        if !edits.isEmpty { JSONWriter.raw("]", to: &json) }
        if editCount > 0 { JSONWriter.member("editCount", editCount, to: &json) }
        if deletedAt > 0 { JSONWriter.member("deletedAt", deletedAt, to: &json) }
        if deletedAt > 0, deletedBy != "-" { JSONWriter.member("deletedBy", deletedBy, to: &json) }
        JSONWriter.raw("}", to: &json)
    }
}
