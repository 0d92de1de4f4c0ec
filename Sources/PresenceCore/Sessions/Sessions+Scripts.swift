import CAssets

/// The scripts of this feature.
extension Script {
    package static let open = Script("open", asset_open())
    /// As `open`, but also when Redis' memory is full: an admitted session is kept.
    static let assert = Script("assert", asset_open(), allowsFullMemory: true)
    package static let end = Script("end", asset_end())
    package static let activity = Script("activity", asset_activity())
    static let disconnect = Script("disconnect", asset_disconnect())
    package static let status = Script("status", asset_status(), isAcknowledged: true)
    package static let lapse = Script("lapse", asset_lapse())
    static let revoke = Script("revoke", asset_revoke(), isAcknowledged: true)
}
