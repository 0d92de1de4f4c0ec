import CAssets
import PresenceCore

/// The scripts of this folder's feature. Those of messages and conversations count what mentions an upload.
extension Script {
    static let attach = Script("attach", asset_attach(), isAcknowledged: true)
    static let releaseAttachment = Script("release-attachment", asset_release_attachment())

    static let attachments: [Script] = [.attach, .releaseAttachment]
}
