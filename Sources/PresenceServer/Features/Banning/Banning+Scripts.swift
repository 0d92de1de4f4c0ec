import CAssets
import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// The bans of a partition's users and conversations (`Scripts/ban-lib.lua`).
    static let bans = KeyFamily(name: "bans", isPassing: false, type: "zset", isOfPartition: true)
}

extension PartitionKeys {
    var bans: String { "\(name):bans" }
}

extension Script {
    private static let banLibrary = ScriptLibrary(asset_ban_lib())

    private static func banning(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: banLibrary, isAcknowledged: true)
    }

    static let ban = Script("ban", asset_ban(), library: banLibrary + askedLibrary, isAcknowledged: true)
    static let unban = banning("unban", asset_unban())
    static let banMember = banning("ban-member", asset_ban_member())
    static let unbanMember = banning("unban-member", asset_unban_member())
    static let bans = Script("bans", asset_bans())
}
