import CAssets
import PresenceCore
import PresenceProtocol

extension KeyFamily {
    /// The keys of backends, in one hash of the first partition (`Scripts/backend-key-lib.lua`).
    static let backendKeys = KeyFamily(name: "backendKeys", isPassing: false, type: "hash", isOfPartition: true)
}

extension PartitionKeys {
    var backendKeys: String { "\(name):backendKeys" }
}

extension Script {
    private static let backendKeyLibrary = ScriptLibrary.common + ScriptLibrary(asset_backend_key_lib())

    private static func changingKeys(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: backendKeyLibrary, isAcknowledged: true)
    }

    static let judgeKey = Script("judge-key", asset_judge_key(), library: backendKeyLibrary)
    static let makeKey = changingKeys("make-key", asset_make_key())
    static let rotateKey = changingKeys("rotate-key", asset_rotate_key())
    static let revokeKey = changingKeys("revoke-key", asset_revoke_key())
}
