/// The scripts of this folder's feature.
extension Script {
    static let status = Script("status", PackageResources.status_lua, isAcknowledged: true)
    static let lapse = Script("lapse", PackageResources.lapse_lua)
    static let renumber = Script("renumber", PackageResources.renumber_lua)
}
