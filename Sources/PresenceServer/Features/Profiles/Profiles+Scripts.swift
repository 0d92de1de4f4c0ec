import CAssets
import PresenceCore

/// The scripts of this folder's feature.
extension Script {
    static let profileLibrary = ScriptLibrary(asset_profile_lib())

    static let profile = Script("profile", asset_profile(), library: profileLibrary, isAcknowledged: true)
}
