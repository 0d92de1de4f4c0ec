/// The scripts of this folder's feature.
extension Script {
    static let typing = Script("typing", PackageResources.typing_lua, library: PackageResources.typing_lib_lua)
    static let conversation = Script(
        "conversation", PackageResources.conversation_lua, library: PackageResources.typing_lib_lua)
}
