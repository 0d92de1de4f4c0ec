/// The scripts of this folder's feature.
extension Script {
    static let profile = Script("profile", PackageResources.profile_lua, isAcknowledged: true)
}
