import CAssets
import PresenceCore
import PresenceProtocol

/// The scripts of this folder's feature.
extension Script {
    static let leadCourier = Script("lead-courier", asset_lead_courier())
    static let webhookEnqueue = Script("webhook-enqueue", asset_webhook_enqueue())
    private static let webhookLibrary = ScriptLibrary(asset_webhook_lib())
    static let webhookTake = Script("webhook-take", asset_webhook_take(), library: webhookLibrary)
    static let webhookSettle = Script("webhook-settle", asset_webhook_settle(), library: webhookLibrary)

    static let webhooks: [Script] = [.leadCourier, .webhookEnqueue, .webhookTake, .webhookSettle]
}

/// The keys of webhooks. README.md beside this file has the contents of each.
extension KeyFamily {
    /// What scripts have offered and the courier has not taken.
    static let offers = KeyFamily(name: "offers", isPassing: false, type: "stream", isOfPartition: true)
    /// Who the courier is; in the first partition only.
    static let courier = KeyFamily(name: "courier", isPassing: true, type: "string", isOfPartition: true)
    static let webhookState = KeyFamily(name: "webhook", isPassing: false, type: "hash")
    static let webhookDue = KeyFamily(name: "webhook-due", isPassing: false, type: "zset")
    static let webhookBodies = KeyFamily(name: "webhook-bodies", isPassing: false, type: "hash")

    static let webhooks: [KeyFamily] = [.offers, .courier, .webhookState, .webhookDue, .webhookBodies]
}

extension PartitionKeys {
    var courier: String { "\(name):courier" }
    /// Of an endpoint: state, due, bodies.
    func webhook(_ id: Identifier) -> [String] {
        [key(.webhookState, id), key(.webhookDue, id), key(.webhookBodies, id)]
    }
}
