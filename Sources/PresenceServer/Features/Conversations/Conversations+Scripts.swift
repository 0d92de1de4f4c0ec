import CAssets
import PresenceCore

/// The scripts of this folder's feature.
extension Script {
    static let create = Script("create", asset_create(), isAcknowledged: true)
    static let participants = Script(
        "participants", asset_participants(), library: asset_typing_lib(),
        isAcknowledged: true)
}
