import CAssets
import PresenceCore

extension KeyFamily {
    /// The names of a partition's users, in the order of their bytes: "NAME\u{1F}USER\u{1F}KIND" (`profile-lib.lua`).
    static let directory = KeyFamily(name: "directory", isPassing: false, type: "zset", isOfPartition: true)
}

extension PartitionKeys {
    var directory: String { "\(name):directory" }
}

/// The scripts of this folder's feature.
extension Script {
    static let profileLibrary = ScriptLibrary(asset_profile_lib())

    static let profile = Script("profile", asset_profile(), library: profileLibrary, isAcknowledged: true)
}
