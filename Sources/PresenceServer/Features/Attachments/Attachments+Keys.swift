import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// What was uploaded to a conversation, and how many messages mention it (`Scripts/attachment-lib.lua`).
    static let attachments = KeyFamily(name: "attachments", isPassing: false, type: "hash")
    /// What somebody has to look at whether its files go.
    static let attachmentsDue = KeyFamily(
        name: "attachments-due", isPassing: false, type: "zset", isOfPartition: true)
    /// What an upload is, by its name.
    static let attachment = KeyFamily(name: "attachment", isPassing: false, type: "hash")
}

extension PartitionKeys {
    func attachments(_ id: ConversationID) -> String { key(.attachments, id) }
    var attachmentsDue: String { "\(name):attachments-due" }
    /// Names are drawn into the partition of their conversation.
    func attachment(_ upload: StoredName) -> String { key(.attachment, upload.id) }
}
