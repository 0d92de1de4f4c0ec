import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Creations repeated because their answers were lost, in simulated time and with random breaks.
@Suite struct CreationSimulationTests {
    @Test func `a creation that is repeated any number of times on any server makes one conversation`() throws {
        let redis = try SimulatedRedis()
        var outcomes: Set<String> = []
        for seed in 1...60 as ClosedRange<UInt64> {
            let world = try World(shards: 2, seed: seed, redis: redis)
            let devices = try ["phone", "web"].enumerated().map {
                try SimulatedClient("ana", in: world).connect(to: world.shards[$0.offset], device: $0.element)
            }
            let creation = ClientMessage.Body.createConversation(
                participants: [UserID("bob")!], key: CreationKey("k"))
            var answers: [ServerMessage.Conversation] = []
            for _ in 0..<200 where answers.count < 3 {
                // Some are sent at the same moment from both shards; then the connection to Redis breaks in whatever
                // state they are.
                for device in devices where Bool.random(using: &world.random) { device.send(creation) }
                try world.run(for: .random(in: 0...8, using: &world.random))
                world.shards.randomElement(using: &world.random)!.cut(.commands)
                try world.run(for: .random(in: 0...400, using: &world.random))
                for message in devices.flatMap(\.received) {
                    if case .error(let error) = message {
                        outcomes.insert(error.outcomeUnknown ? "unknown" : error.code.rawValue)
                    }
                }
                answers = devices.flatMap(\.received).compactMap {
                    if case .conversationCreated(_, let conversation) = $0 { conversation } else { nil }
                }
            }
            try world.run(until: "both shards are live") { world.shards.allSatisfy { $0.logic.link.isLive } }
            expect(answers.count >= 3, "seed \(seed)")
            expect(Set(answers.map(\.id)).count, equals: 1, "seed \(seed)")
            expect(answers.allSatisfy { Set($0.participants.map(\.string)) == ["ana", "bob"] })
            let kept = try world.redis.command(["KEYS", "*:conversation:*"]).get().array?.count
            expect(kept, equals: 1, "seed \(seed)")
            let user = world.shards[0].logic.partitions.keys(of: UserID("ana")!).user(UserID("ana")!)
            try expect(world.redis.command(["HGET", user, "conversations"]).get().int, equals: 1, "seed \(seed)")
        }
        expect(outcomes.contains("unknown") && outcomes.contains("unavailable"), "the breaks met creations under way")
    }
}
