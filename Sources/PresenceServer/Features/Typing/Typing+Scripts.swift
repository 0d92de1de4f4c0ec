import CAssets
import PresenceCore

/// The scripts of this folder's feature.
extension Script {
    private static let typingLibrary = ScriptLibrary(asset_typing_lib())

    static let typing = Script("typing", asset_typing(), library: typingLibrary)
    static let conversation = Script("conversation", asset_conversation(), library: typingLibrary)
}
