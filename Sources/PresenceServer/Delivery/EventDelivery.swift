import CAssets
import PresenceCore
import PresenceProtocol
import Redis

/// Delivers what scripts have offered to receivers outside: endpoints of webhooks, and push services.
///
///     script: change and `offer` ─▶ {p}:offers ─▶ Courier ─▶ {e}:webhook-due, -bodies of each receiver ─▶ DeliveryQueue ─▶ a call
///
/// It guarantees that
/// - an event that the script of its change has offered reaches each receiver that wants it at least once, whatever dies; it is
///   tried as often as the receiver's schedule has it, and a bounded number waits;
/// - one server at a time has an event, and the first tries of one subject's events are made in their order;
/// - where no receiver is configured, nothing of it runs at all.
///
/// A feature offers an event in its own script, which declares nothing for it: `offer(TYPE, SUBJECT .. ' ' .. JSON)`.
final class EventDelivery: Feature {
    static let plan = FeaturePlan(
        name: "delivery", isOptional: false, scripts: Script.delivery, keys: KeyFamily.delivery)

    private unowned let shard: ShardLogic
    /// One shard of a process is enough.
    let courier: Courier?

    init(_ shard: ShardLogic) {
        self.shard = shard
        let isNeeded = shard.configuration.needsOffers(for: Features.all)
        courier = isNeeded && shard.place.number == 0 ? Courier(shard) : nil
    }

    func register(in registry: inout Registry) { courier?.register(in: &registry) }

    func drain() { courier?.leave() }

    func becameLive() { courier?.start() }
    func becameStale() { courier?.stop() }
}

/// The scripts of this folder.
extension Script {
    private static let queueLibrary = ScriptLibrary(asset_queue_lib())

    static let leadCourier = Script("lead-courier", asset_lead_courier())
    static let queueAdd = Script("queue-add", asset_queue_add())
    static let queueTake = Script("queue-take", asset_queue_take(), library: queueLibrary)
    static let queueLeft = Script("queue-left", asset_queue_left(), library: queueLibrary)
    static let queueSettle = Script("queue-settle", asset_queue_settle(), library: queueLibrary)

    static let delivery: [Script] = [.leadCourier, .queueAdd, .queueTake, .queueLeft, .queueSettle]
}

/// The keys of deliveries. README.md beside this file has the contents of each.
extension KeyFamily {
    /// Offered events that the courier has not taken.
    static let offers = KeyFamily(name: "offers", isPassing: false, type: "stream", isOfPartition: true)
    /// The server that is the courier; in the first partition only.
    static let courier = KeyFamily(name: "courier", isPassing: true, type: "string", isOfPartition: true)
    static let queueState = KeyFamily(name: "webhook", isPassing: false, type: "hash")
    static let queueDue = KeyFamily(name: "webhook-due", isPassing: false, type: "zset")
    static let queueBodies = KeyFamily(name: "webhook-bodies", isPassing: false, type: "hash")

    static let delivery: [KeyFamily] = [.offers, .courier, .queueState, .queueDue, .queueBodies]
}

extension PartitionKeys {
    var courier: String { "\(name):courier" }
    /// The keys of a receiver's queue, as scripts name them.
    func queue(_ id: Identifier) -> KeyValuePairs<StaticString, String> {
        ["state": key(.queueState, id), "due": key(.queueDue, id), "bodies": key(.queueBodies, id)]
    }
}
