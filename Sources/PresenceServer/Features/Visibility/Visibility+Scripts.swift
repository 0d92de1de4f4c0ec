/// The scripts of this folder's feature.
extension Script {
    static let visibility = Script("visibility", PackageResources.visibility_lua, isAcknowledged: true)
    static let policy = Script("policy", PackageResources.policy_lua)
}
