import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The waiting pushes that a push service gets.
@Suite struct PushServiceTests {
    private struct Taking: PushSender {
        let platform = "apns"
        let name = "test"
        let url = "https://example.org"

        func send(
            _ message: PushMessage, id: String, at time: Timestamp, on shard: ShardLogic
        ) async -> DeliveryOutcome? { .accepted }
    }

    private let world: World
    private let due: PushScheduler
    private let service: PushService

    init() throws {
        world = try World(shards: 1)
        due = PushScheduler(world.shards[0].logic)
        service = PushService(Taking(), world.shards[0].logic, due, removed: MetricCounter())
    }

    private let dueAt: Timestamp = 1_763_712_000_000

    private func entries(user: String, _ tokens: [String]) -> [WaitingEvent] {
        let devices = tokens.map { #"{"platform":"apns","pushToken":"\#($0)"}"# }.joined(separator: ",")
        let event = OfferedEvent(
            entry: "1-0", type: "push.due", at: dueAt, subject: user,
            rest: Array(
                (#""conversation":"c1","devices":[\#(devices)],"title":"Ana","text":"hi","badge":3"#).utf8)[...])
        return service.entries(of: event, body: event.body ?? [], partition: 0)
    }

    @Test func `a push is not sent when it is older than an hour`() async throws {
        let entry = try #require(entries(user: "bob", ["0a"]).first)
        let event = try #require(QueuedEvent(id: entry.id, Array("5 \(entry.subject) ".utf8) + entry.body))
        await expect(service.send(event, at: dueAt + 3_600_000), equals: .accepted)
        await expect(service.send(event, at: dueAt + 3_600_001), equals: .refused("too late"))
        // The clock was set back.
        await expect(service.send(event, at: dueAt - 3_600_001), equals: .accepted)
    }

    @Test func `the devices of a user do not wait for each other`() {
        let subjects = entries(user: "bob", ["0a", "0b"]).map(\.subject)
        expect(Set(subjects).count == 2 && !subjects.contains { $0.contains(" ") })
    }

    @Test func `a subject is of one user and one token, whatever they are`() {
        let users = ["bob", ":", "3:bob", "1", String(repeating: "u", count: 128)]
        let subjects = users.flatMap { entries(user: $0, ["1:a:b", ":a:b"]) + entries(user: $0 + "1", [":a:b"]) }
        expect(Set(subjects.map(\.subject)).count, equals: 3 * users.count)
    }
}
