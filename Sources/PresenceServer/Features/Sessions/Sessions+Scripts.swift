/// The scripts of this folder's feature.
extension Script {
    static let open = Script("open", PackageResources.open_lua)
    /// The same, but for a full memory: what was let in once is kept.
    static let assert = Script("assert", PackageResources.open_lua, allowsFullMemory: true)
    static let end = Script("end", PackageResources.end_lua)
    static let activity = Script("activity", PackageResources.activity_lua)
    static let disconnect = Script("disconnect", PackageResources.disconnect_lua)
    static let revoke = Script("revoke", PackageResources.revoke_lua, isAcknowledged: true)
}
