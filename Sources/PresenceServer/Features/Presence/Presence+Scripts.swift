import CAssets

/// The scripts of this folder's feature.
extension Script {
    static let status = Script("status", asset_status(), isAcknowledged: true)
    static let lapse = Script("lapse", asset_lapse())
    static let renumber = Script("renumber", asset_renumber())
}
