import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories: a few users sign up, sign in, refresh, change their addresses, usernames and pictures, and delete
/// their accounts, with the same few addresses and names. Connections break and servers die between the steps. A model
/// checks the answers. Afterwards every address and name must belong to one account or be free, and every account must
/// be usable by its owner.
@Suite struct AccountHistoryTests {
    @Test func `an address belongs to one account or is free, whatever fails`() async throws {
        try await Self.check(isAboutNames: false)
    }

    @Test func `a username belongs to one account or is free, whatever fails`() async throws {
        try await Self.check(isAboutNames: true)
    }

    @Test(arguments: Self.mistakes) func `a deliberate bug is detected`(mistake: ScriptMistake) async throws {
        try await expect(Self.isFound(mistake))
    }

    @Test(arguments: Self.mistakesOfNames)
    func `a deliberate bug with names is detected`(mistake: ScriptMistake) async throws {
        try await expect(Self.isFound(mistake, isAboutNames: true))
    }

    // MARK: Seeds

    /// The number of fixed seeds and of new seeds in a run.
    private static let most = 24
    private static let drawn = Seeds.fromEnvironment().map { $0.first..<($0.first + UInt64(min($0.count, most))) }

    private struct Sum: Sendable {
        var histories = 0, renewed = 0, repeated = 0, reused = 0
        var faults: [String] = []

        static func += (sum: inout Sum, other: Sum) {
            sum.histories += other.histories
            sum.renewed += other.renewed
            sum.repeated += other.repeated
            sum.reused += other.reused
            sum.faults += other.faults
        }
    }

    private static func check(isAboutNames: Bool) async throws {
        let sum = try await withThrowingTaskGroup(of: Sum.self) { group in
            for seeds in drawn { group.addTask { try await onThread { try play(seeds, isAboutNames) } } }
            return try await group.reduce(into: Sum()) { $0 += $1 }
        }
        let firsts = drawn.map { String($0.lowerBound) }.joined(separator: " and ")
        print(
            "accounts\(isAboutNames ? " with names" : ""): \(sum.histories) histories from seeds \(firsts), "
                + "\(sum.renewed) refresh tokens renewed, \(sum.repeated) repeated, \(sum.reused) found used")
        expect(sum.faults == [] && sum.histories == drawn.reduce(0) { $0 + $1.count })
        // The histories reach the cases under test. The mutations cover the reuse of old tokens.
        expect(!Seeds.isWhole || (sum.renewed > 20 && sum.repeated > 5))
    }

    private static func play(_ seeds: Range<UInt64>, _ isAboutNames: Bool) throws -> Sum {
        let redis = try SimulatedRedis()
        var sum = Sum()
        for seed in seeds {
            guard sum.faults.count < 3 else { break }
            let history = try AccountHistory(seed: seed, isAboutNames: isAboutNames, redis: redis)
            let faults = try Self.faults(of: history, isAboutNames)
            sum.faults += faults.map { "seed \(seed): \($0)" }
            sum.histories += 1
            sum.renewed += history.model.renewed
            sum.repeated += history.model.repeated
            sum.reused += history.model.reused
        }
        return sum
    }

    private static func isFound(_ mistake: ScriptMistake, isAboutNames: Bool = false) async throws -> Bool {
        let substitutes = mistake.substitutes(in: Script.accounts)
        try #require(!substitutes.isEmpty, "no script has what this replaces")
        let found = try await onThread { () -> UInt64? in
            let redis = try SimulatedRedis(substitutes: substitutes)
            return try mistake.seeds(200).first { seed in
                let history = try AccountHistory(seed: seed, isAboutNames: isAboutNames, redis: redis)
                // A history that cannot be completed also counts as detection.
                return (try? faults(of: history, isAboutNames)) != []
            }
        }
        print("\(mistake.name): found in history \(found.map(String.init) ?? "none")")
        return found != nil
    }

    private static func faults(of history: AccountHistory, _ isAboutNames: Bool) throws -> [String] {
        do {
            for _ in 0..<(isAboutNames ? 90 : 70) { try history.step() }
            try history.settle()
            if isAboutNames { try history.checkNames() }
            try history.check()
            return history.faults
        } catch let impatience as World.Impatience {
            return history.faults + ["never so: \(impatience.what)"]
        }
    }

    static let mistakes = [
        ScriptMistake(
            name: "another account's address counts as free, whatever its record has", at: "held-by-its-owner"),
        ScriptMistake(
            name: "a sign-up takes an address that is taken", at: "address-is-taken", becomes: "if false then"),
        ScriptMistake(
            name: "an account does not store the change by which it has its address", at: "account-says-its-claim",
            seed: 12),
        ScriptMistake(
            name: "a refresh token is valid for ever", at: "refresh-token-was-used", becomes: "elseif false then",
            seed: 2),
        ScriptMistake(
            name: "a refresh token whose answer was lost counts as stolen", at: "refresh-token-was-used",
            becomes: "elseif not made[behind] then", seed: 3),
        ScriptMistake(
            name: "an address that replaces an uploaded picture leaves the file with its owner",
            old: "redis.call('HDEL', userKey, 'photo')", new: "", seed: 20),
    ]

    static let mistakesOfNames = [
        ScriptMistake(name: "an address is taken from another account", at: "address-is-anothers", seed: 22),
        ScriptMistake(name: "a deleted account keeps its username", at: "abandons-the-name"),
        ScriptMistake(
            name: "an account created with a username does not show it in its profile",
            at: "profile-shows-the-name", seed: 3),
    ]
}
