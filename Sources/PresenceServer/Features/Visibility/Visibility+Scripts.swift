import CAssets

/// The scripts of this folder's feature.
extension Script {
    static let visibility = Script("visibility", asset_visibility(), isAcknowledged: true)
    static let policy = Script("policy", asset_policy())
}
