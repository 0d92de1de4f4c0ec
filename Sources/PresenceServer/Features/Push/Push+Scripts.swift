import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature.
extension Script {
    private static let pushLibrary = ScriptLibrary(
        asset_account_lib(), asset_push_lib(), asset_notification_lib())

    private static func push(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: pushLibrary)
    }

    static let setDevice = Script("set-device", asset_set_device(), isAcknowledged: true)
    static let dropDevice = Script("drop-device", asset_drop_device())
    static let pushNote = push("push-note", asset_push_note())
    static let pushTake = Script("push-take", asset_push_take())
    static let pushMessage = Script("push-message", asset_push_message())
    static let pushLater = push("push-later", asset_push_later())
    static let pushTell = push("push-tell", asset_push_tell())
    static let pushCheck = push("push-check", asset_push_check())
    static let pushMissed = push("push-missed", asset_push_missed())
    static let pushWithdraw = push("push-withdraw", asset_push_withdraw())

    static let push: [Script] = [
        .setDevice, .dropDevice, .pushNote, .pushTake, .pushTell, .pushMessage, .pushLater, .pushCheck, .pushMissed,
        .pushWithdraw,
    ]
}

/// The keys of pushes. README.md beside this file has the contents of each.
extension KeyFamily {
    /// The devices of a user.
    static let devices = KeyFamily(name: "devices", isPassing: false, type: "hash")
    /// The notes of a user, and the last pushes, by conversation.
    static let pushed = KeyFamily(name: "pushed", isPassing: false, type: "hash")
    /// The notes by the time of their decision.
    static let push = KeyFamily(name: "push", isPassing: false, type: "zset", isOfPartition: true)

    /// The token with which pushes are sent to APNs, shared by all servers.
    static let pushToken = KeyFamily(name: "push-token", isPassing: true, type: "string", expires: true)

    static let pushes: [KeyFamily] = [.devices, .pushed, .push, .pushToken, .vapid]
}

extension PartitionKeys {
    func devices(_ id: UserID) -> String { key(.devices, id) }
    func pushed(_ id: UserID) -> String { key(.pushed, id) }
    var push: String { "\(name):push" }
    func pushToken(_ id: Identifier) -> String { key(.pushToken, id) }
}
