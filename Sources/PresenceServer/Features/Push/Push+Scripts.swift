import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature.
extension Script {
    private static let pushLibrary = ScriptLibrary(
        asset_account_lib(), asset_push_lib(), asset_notification_lib())

    static let setDevice = Script("set-device", asset_set_device(), isAcknowledged: true)
    static let pushNote = Script("push-note", asset_push_note(), library: pushLibrary)
    static let pushTake = Script("push-take", asset_push_take())
    static let pushFacts = Script("push-facts", asset_push_facts(), library: pushLibrary)
    static let pushMessage = Script("push-message", asset_push_message())
    static let pushSettle = Script("push-settle", asset_push_settle(), library: pushLibrary)
    static let pushForget = Script("push-forget", asset_push_forget(), library: pushLibrary)
    static let pushWithdraw = Script("push-withdraw", asset_push_withdraw(), library: pushLibrary)

    static let pushHeld = Script("push-held", asset_push_held(), library: pushLibrary)
    static let pushRelease = Script("push-release", asset_push_release(), library: pushLibrary)
    static let pushHold = Script("push-hold", asset_push_hold(), library: pushLibrary)
    static let pushNotification = Script("push-notification", asset_push_notification(), library: pushLibrary)

    static let push: [Script] =
        [
            .setDevice, .pushNote, .pushTake, .pushFacts, .pushMessage, .pushSettle, .pushForget, .pushWithdraw,
        ] + holding
    static let holding: [Script] = [.pushHeld, .pushRelease, .pushHold, .pushNotification]
}

/// The keys of pushes. README.md beside this file has the contents of each.
extension KeyFamily {
    /// The devices of a user.
    static let devices = KeyFamily(name: "devices", isPassing: false, type: "hash")
    /// The last push of each conversation of a user.
    static let pushed = KeyFamily(name: "pushed", isPassing: false, type: "hash")
    /// Conversations of users, by the time when a push is decided.
    static let push = KeyFamily(name: "push", isPassing: false, type: "zset", isOfPartition: true)

    /// Users for whom pushes are held, by the time when these are decided.
    static let held = KeyFamily(name: "held", isPassing: false, type: "zset", isOfPartition: true)

    /// The token with which pushes are sent to APNs, shared by all servers.
    static let pushToken = KeyFamily(name: "push-token", isPassing: true, type: "string", expires: true)

    static let pushes: [KeyFamily] = [.devices, .pushed, .push, .held, .pushToken, .vapid]
}

extension PartitionKeys {
    func devices(_ id: UserID) -> String { key(.devices, id) }
    func pushed(_ id: UserID) -> String { key(.pushed, id) }
    var push: String { "\(name):push" }
    var held: String { "\(name):held" }
    func pushToken(_ id: Identifier) -> String { key(.pushToken, id) }
}
