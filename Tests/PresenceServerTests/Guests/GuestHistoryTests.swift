import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: guests come, are used or not, are upgraded to the same few addresses, and delete their accounts, while
/// others sign up and in at these addresses with codes by mail. Connections break and servers die between the steps. Every
/// address must belong to one account or be free, an answered upgrade must hold, and exactly the unused guests must go.
@Suite struct GuestHistoryTests {
    @Test func `guests are kept while they are used, and upgraded once, whatever fails`() async throws {
        var (histories, sum, faults) = (0, (swept: 0, upgrades: 0, entered: 0), [String]())
        for seeds in Seeds.fromEnvironment().map({ $0.first..<($0.first + UInt64(min($0.count, 16))) }) {
            let played = try await onThread { () throws -> [(Int, Int, Int, [String])] in
                let redis = try SimulatedRedis()
                return try seeds.map { seed in
                    let history = try GuestHistory(seed: seed, redis: redis)
                    let faults = try Self.faults(of: history).map { "seed \(seed): \($0)" }
                    return (history.swept, history.upgrades, history.entered, faults)
                }
            }
            for (swept, upgrades, entered, found) in played {
                histories += 1
                sum = (sum.swept + swept, sum.upgrades + upgrades, sum.entered + entered)
                faults += found
            }
        }
        print("guests: \(histories) histories, \(sum)")
        expect(faults, equals: [])
        expect(!Seeds.isWhole || (sum.swept > 20 && sum.upgrades > 20 && sum.entered > 10))
    }

    @Test(arguments: Self.mistakes) func `a deliberate bug is detected`(mistake: ScriptMistake) async throws {
        let substitutes = mistake.substitutes(in: Script.accounts)
        try #require(!substitutes.isEmpty, "no script has what this replaces")
        let found = try await onThread { () -> UInt64? in
            let redis = try SimulatedRedis(substitutes: substitutes)
            // A history that cannot be completed also counts as detection.
            return try mistake.seeds(200).first { seed in
                let history = try GuestHistory(seed: seed, redis: redis)
                return (try? Self.faults(of: history)) != []
            }
        }
        print("\(mistake.name): found in history \(found.map(String.init) ?? "none")")
        expect(found != nil)
    }

    private static func faults(of history: GuestHistory) throws -> [String] {
        do {
            for _ in 0..<70 { try history.step() }
            try history.check()
            return history.faults
        } catch let impatience as World.Impatience {
            return history.faults + ["never so: \(impatience.what)"]
        }
    }

    static let mistakes = [
        ScriptMistake(name: "a refreshed token is no use of a guest", at: "refresh-uses-a-guest", seed: 2),
        ScriptMistake(name: "an upgraded account remains a guest", at: "no-guest-any-more"),
        ScriptMistake(name: "an account with an address can be upgraded again", at: "upgrade-needs-no-address"),
        ScriptMistake(
            name: "an upgrade that another one replaced counts", at: "upgrade-has-a-number",
            becomes: "local number = held[4] or int(nextVersion(held[4], floorKey))", seed: 6),
        ScriptMistake(name: "a code works for ever", at: "code-works-once", seed: 5),
    ]
}
