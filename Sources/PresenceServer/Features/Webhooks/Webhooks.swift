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
        "webhooks", threads: { $0[Webhooks.endpoints].count }, queue: { _ in 64 }, hasLowPriority: true)
    static let plan = FeaturePlan(
        name: "webhooks", isOptional: false, scripts: Script.webhooks, keys: KeyFamily.webhooks,
        settings: [endpoints, queue], pools: [pool], needsOffers: { !$0[Webhooks.endpoints].isEmpty },
        check: { configuration throws(InvalidConfiguration) in _ = try WebhookEndpoint.all(configuration) })

    private unowned let shard: ShardLogic
    /// Of all who are told of events, those of other features too. One shard of a process is enough.
    let courier: Courier?

    init(_ shard: ShardLogic) {
        self.shard = shard
        let isNeeded = shard.configuration.needsOffers(for: Features.all)
        courier = isNeeded && shard.place.number == 0 ? Courier(shard) : nil
    }

    func register(in registry: inout Registry) {
        guard let courier else { return }
        courier.register(in: &registry)
        // The files were read before, by `check`.
        let endpoints = (try? WebhookEndpoint.all(shard.configuration)) ?? []
        guard !endpoints.isEmpty else { return }
        let queues = courier.add(endpoints, Self.counters(in: &registry))
        registry.gauge(
            "webhooks_queued", help: "events that wait for endpoints, on the server that sends them"
        ) {
            queues.reduce(0) { $0 + $1.waiting }
        }
        registry.gauge("webhooks_off", help: "endpoints that answered 410 and are not called any more") {
            queues.count { $0.isOff }
        }
    }

    private static func counters(in registry: inout Registry) -> QueueCounters {
        QueueCounters(
            sent: registry.counter("webhooks_sent_total", help: "events that an endpoint has taken"),
            failed: registry.counter(
                "webhook_failures_total", help: "tries to tell an endpoint of an event that failed"),
            givenUp: registry.counter(
                "webhooks_given_up_total", help: "events that an endpoint did not take in 76 hours"),
            dropped: registry.counter(
                "webhooks_dropped_total",
                help: "events that no endpoint will hear of: too many waited, or it is off"))
    }

    func resynchronise(_ step: ResynchronisationStep, done: @escaping (RedisFailure?) -> Void) {
        switch step {
        case .live: courier?.start()
        case .lost: courier?.stop()
        case .assert, .reload: break
        }
        done(nil)
    }
}
