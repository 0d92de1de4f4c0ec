import PresenceProtocol

/// A message as Redis has it (`Scripts/message-lib.lua`).
struct StoredMessage {
    struct Edit {
        let at: Timestamp
        /// The text that was replaced then, as JSON.
        let text: ArraySlice<UInt8>
    }

    let id: String
    let seq: Int64
    /// The number of the last change that concerned it.
    let version: Int64
    let at: Timestamp
    let from: String
    /// 0 if it never was.
    let editedAt: Timestamp
    let editCount: Int64
    let deletedAt: Timestamp
    /// `-` if a backend did, or nobody.
    let deletedBy: String
    /// As JSON; what is not there is empty.
    let text: ArraySlice<UInt8>
    let attachments: ArraySlice<UInt8>
    let priority: ArraySlice<UInt8>
    let edits: [Edit]

    /// `nil` for what no script has written.
    init?(_ bytes: ArraySlice<UInt8>) {
        let parts = bytes.split(separator: 0x1F, omittingEmptySubsequences: false)
        guard parts.count >= 4 else { return nil }
        let words = parts[0].split(separator: 0x20)
        guard words.count == 9, let seq = Self.number(words[1]), let version = Self.number(words[2]),
            let at = Self.number(words[3]), let editedAt = Self.number(words[5]), let editCount = Self.number(words[6]),
            let deletedAt = Self.number(words[7])
        else { return nil }
        (id, from, deletedBy) = (Self.text(words[0]), Self.text(words[4]), Self.text(words[8]))
        (self.seq, self.version, self.at) = (seq, version, at)
        (self.editedAt, self.editCount, self.deletedAt) = (editedAt, editCount, deletedAt)
        (text, attachments, priority) = (parts[1], parts[2], parts[3])
        edits = parts[4...].compactMap { part in
            guard let space = part.firstIndex(of: 0x20), let at = Self.number(part[..<space]) else { return nil }
            return Edit(at: at, text: part[(space + 1)...])
        }
    }

    private static func text(_ word: ArraySlice<UInt8>) -> String { String(decoding: word, as: UTF8.self) }

    /// Digits only, and at most 18 of them; `nil` for anything else.
    private static func number(_ word: ArraySlice<UInt8>) -> Int64? {
        guard !word.isEmpty, word.count <= 18 else { return nil }
        var value: Int64 = 0
        for byte in word {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        return value
    }

    init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// When it last changed.
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
