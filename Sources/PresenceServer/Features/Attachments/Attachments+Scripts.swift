import CAssets
import PresenceCore

/// The scripts of this folder's feature. The scripts of messages and conversations count the messages that refer to an upload.
extension Script {
    static let attach = Script("attach", asset_attach(), isAcknowledged: true)
    static let releaseAttachment = Script("release-attachment", asset_release_attachment())

    static let attachments: [Script] = [.attach, .releaseAttachment]
}
