import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature. The scripts of messages and conversations count the messages that refer to an upload.
extension Script {
    static let attach = Script("attach", asset_attach(), isAcknowledged: true)
    static let releaseAttachment = Script("release-attachment", asset_release_attachment())

    static let attachments: [Script] = [.attach, .releaseAttachment]
}

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
