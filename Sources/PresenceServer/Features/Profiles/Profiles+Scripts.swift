import CAssets
import PresenceCore

/// The scripts of this folder's feature.
extension Script {
    static let profile = Script("profile", asset_profile(), library: asset_profile_lib(), isAcknowledged: true)
}
