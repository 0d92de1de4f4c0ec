import Installation
import PresenceCore
import PresenceProtocol
import Redis

/// Tells servers of the operator's own what happens, after Standard Webhooks.
///
///     script: change and `offer` ─▶ {p}:offers ─▶ Courier ─▶ {e}:webhook-due, -bodies of each endpoint ─▶ WebhookQueue ─▶ a thread
///
/// It guarantees that
/// - an event that was offered by the script of its change comes to each endpoint that wants it at least once, whatever dies;
///   except that it is tried ten times within 76 hours, and that a bounded number wait (`webhookQueue`, then
///   `presence_webhooks_dropped_total`);
/// - one sender at a time has an event, and the first tries of one subject's events are made in their order;
/// - nothing of it runs on a loop but scripts; where no endpoint is configured, nothing of it runs at all.
///
/// A feature offers an event in its own script, which must declare nothing for it: `offer(TYPE, SUBJECT .. ' ' .. JSON)`.
final class Webhooks: Feature {
    /// A thread for each endpoint, so that a slow one holds up no other.
    static let pool = WorkerPlan(
        "webhooks", threads: { $0[rows: .webhooks].count }, queue: { _ in 64 }, hasLowPriority: true)
    static let plan = FeaturePlan(
        name: "webhooks", isOptional: false, scripts: Script.webhooks, keys: KeyFamily.webhooks,
        settings: [.webhooks, .webhookQueue], pools: [pool], needsOffers: { !$0[rows: .webhooks].isEmpty },
        check: { configuration throws(InvalidConfiguration) in _ = try WebhookEndpoint.all(configuration) })

    private unowned let shard: ShardLogic
    let courier: Courier?

    init(_ shard: ShardLogic) {
        self.shard = shard
        // The files were read before, by `check`. One shard of a process is enough.
        let endpoints = (try? WebhookEndpoint.all(shard.configuration)) ?? []
        courier = endpoints.isEmpty || shard.place.number > 0 ? nil : Courier(shard, endpoints)
    }

    func register(in registry: inout Registry) { courier?.register(in: &registry) }

    func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void) {
        switch step {
        case .live: courier?.start()
        case .lost: courier?.stop()
        case .assert, .reload: break
        }
        done(nil)
    }
}
