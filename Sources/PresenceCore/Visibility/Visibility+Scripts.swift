import CAssets

/// The scripts of this feature.
extension Script {
    /// Changes of users' visibility, and what users have asked each other, which a block ends.
    package static let policyLibrary = ScriptLibrary(asset_policy_lib())
    package static let askedLibrary = ScriptLibrary(asset_asked_lib())

    package static let visibility = Script(
        "visibility", asset_visibility(), library: policyLibrary + askedLibrary, isAcknowledged: true)
}
