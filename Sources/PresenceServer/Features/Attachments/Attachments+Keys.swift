import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// The uploads of a conversation, and how many messages refer to each (`Scripts/attachment-lib.lua`).
    static let attachments = KeyFamily(name: "attachments", isPassing: false, type: "hash")
    /// The uploads to check for removal.
    static let attachmentsDue = KeyFamily(
        name: "attachments-due", isPassing: false, type: "zset", isOfPartition: true)
    /// An upload's properties, by its name.
    static let attachment = KeyFamily(name: "attachment", isPassing: false, type: "hash")
}

extension PartitionKeys {
    func attachments(_ id: ConversationID) -> String { key(.attachments, id) }
    var attachmentsDue: String { "\(name):attachments-due" }
    /// Names are drawn until they lie in the partition of their conversation.
    func attachment(_ upload: StoredName) -> String { key(.attachment, upload.id) }
}
