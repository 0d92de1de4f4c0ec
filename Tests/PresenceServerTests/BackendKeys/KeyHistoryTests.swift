import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: a key that was revoked acts on no server, also on one that has lost Redis for a while.
@Suite("Whatever breaks, a key that has ended is dead on every server") struct KeyHistoryTests {
    private static let most = 60

    @Test func `no key acts after its end, and each other one does, within its scopes`() async throws {
        let sum = try await DrawnHistories<KeyHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("keys: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        expect(sum["acts"] > 300 && sum["refused"] > 100 && sum["revocations"] > 50 && sum["rotations"] > 50)
        expect(sum["harms"] > 30 && sum["answered 403"] > 30 && sum["answered 200"] > 30)
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<KeyHistory>.find(mistake, in: KeyHistory.scripts, count: Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(name: "a revoked key stays", at: "revoked-key-ends", faults: ["acts after", "is judged OK"]),
        ScriptMistake(
            name: "an old secret never ends", at: "old-secret-ends", becomes: "local isOld = held.old == digest",
            faults: ["is judged OK"], seed: 2),
        ScriptMistake(name: "a key never expires", at: "key-expires", faults: ["is judged OK"]),
    ]

    @Test func `a server that takes its last answer about a key for the present one is found`() async throws {
        let found = try await onThread {
            try KeyHistory.$misbehaviour.withValue([.remembersKeys]) {
                let redis = try SimulatedRedis()
                return try (1...UInt64(Self.most)).lazy.compactMap { seed -> String? in
                    do {
                        try KeyHistory(seed: seed, on: redis).play()
                        return nil
                    } catch let fault as HistoryFault {
                        return fault.description
                    }
                }.first
            }
        }
        expect(found?.contains("acts after its end") == true || found?.contains("is answered 200") == true)
    }
}
