import Installation
import PresenceCore
import PresenceProtocol

/// Endpoints of the operator's own servers, which receive events by Standard Webhooks. They are receivers of `EventDelivery`.
///
/// An event is tried ten times within 76 hours, and a bounded number waits (`webhookQueue`, then
/// `presence_webhooks_dropped_total`).
final class Webhooks: Feature {
    static let plan = FeaturePlan(
        name: "webhooks", isOptional: false, settings: [endpoints, queue],
        needsOffers: { !$0[Webhooks.endpoints].isEmpty },
        check: { configuration throws(InvalidConfiguration) in _ = try WebhookEndpoint.all(configuration) })

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        // `check` has read the files before.
        guard let courier = shard.feature(EventDelivery.self)?.courier,
            let endpoints = try? WebhookEndpoint.all(shard.configuration), !endpoints.isEmpty
        else { return }
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
}
