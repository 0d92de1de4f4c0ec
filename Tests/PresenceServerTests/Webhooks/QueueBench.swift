import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Servers with an endpoint whose calls take the time that the test requests, and every call in its order.
final class QueueBench {
    let webhooks: WebhookWorld
    let world: World
    private(set) var calls: [Call] = []
    /// How long a call takes, in ms, and its outcome.
    var answer: (QueuedEvent) -> (time: Milliseconds, outcome: DeliveryOutcome) = { _ in (1, .accepted) }
    private var added = 0

    struct Call: Equatable {
        let id: String
        let subject: String
        let at: Milliseconds
        let server: String
    }

    init(shards: Int = 1, seed: UInt64 = 1, redis: SimulatedRedis? = nil) throws {
        webhooks = try WebhookWorld(shards: shards, queue: 10_000, seed: seed, redis: redis)
        world = webhooks.world
        for shard in world.shards { record(shard) }
        try world.run(until: "there is a courier") { webhooks.couriers.count == 1 }
    }

    func record(_ shard: SimulatedShard) {
        guard let queue = queue(of: shard) else { return }
        queue.send = { [weak self, weak shard] event, _ in
            guard let self, let shard else { return nil }
            calls.append(Call(id: event.id, subject: event.subject, at: world.now, server: shard.name))
            let (time, outcome) = answer(event)
            await shard.logic.tasks.wait { done in
                self.world.after(time) { [weak shard] in shard?.input { _ in done(()) } }
            }
            return outcome
        }
    }

    func queue(of shard: SimulatedShard) -> DeliveryQueue? {
        shard.logic.feature(EventDelivery.self)?.courier?.queues.first
    }

    /// The keys of the queue: state, due, bodies.
    func keys() throws -> [String] {
        let queue = try #require(self.queue(of: world.shards[0]))
        return world.shards[0].logic.partitions.keys(of: queue.receiver.id).queue(queue.receiver.id).map(\.value)
    }

    /// Adds events, one for each subject named, to the queue of the courier.
    ///
    /// - Returns: Their ids: `SUBJECT-NUMBER`, where numbers grow.
    @discardableResult
    func add(_ subjects: [String]) throws -> [String] {
        let courier = try #require(webhooks.couriers.first)
        let queue = try #require(self.queue(of: courier))
        let events = subjects.map { subject in
            added += 1
            let number = String(repeating: "0", count: 5 - String(added).count) + String(added)
            return WaitingEvent(
                id: "\(subject)-\(number)", entry: "1-\(added)", at: world.redisNow, subject: subject,
                body: Array("{}".utf8))
        }
        var isAdded = false
        let newest = "1-\(added)"
        courier.input { logic in
            logic.tasks.run { isAdded = await queue.add(events, newest: newest, lost: 0, of: 5) }
        }
        try world.run(until: "they are added") { isAdded }
        return events.map(\.id)
    }

    func called(_ subject: String) -> [String] { calls.filter { $0.subject == subject }.map(\.id) }

    /// The ids of a subject's events in the order of their first calls.
    func firstCalls(_ subject: String) -> [String] {
        var seen: Set<String> = []
        return called(subject).filter { seen.insert($0).inserted }
    }
}
