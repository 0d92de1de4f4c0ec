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
