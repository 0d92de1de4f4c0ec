import CAssets

/// The scripts of this folder's feature.
extension Script {
    package static let visibility = Script("visibility", asset_visibility(), isAcknowledged: true)
}
