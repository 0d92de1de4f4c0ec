import CAssets
import PresenceCore

/// The scripts of this folder's feature.
extension Script {
    static let typing = Script("typing", asset_typing(), library: asset_typing_lib())
    static let conversation = Script(
        "conversation", asset_conversation(), library: asset_typing_lib())
}
