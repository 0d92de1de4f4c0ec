/// The scripts of this folder's feature.
extension Script {
    static let create = Script("create", PackageResources.create_lua, isAcknowledged: true)
    static let participants = Script(
        "participants", PackageResources.participants_lua, library: PackageResources.typing_lib_lua,
        isAcknowledged: true)
}
