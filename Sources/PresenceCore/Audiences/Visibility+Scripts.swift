import CAssets

/// The scripts of this feature.
extension Script {
    package static let visibility = Script("visibility", asset_visibility(), isAcknowledged: true)
}
