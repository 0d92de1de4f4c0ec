import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Drawn histories: a few people sign up, sign in, change their addresses and usernames and delete their accounts, for the
/// same few addresses and names, while connections break and servers die between the steps. Afterwards every address and
/// name must be one account's or free, and every account must be one that its owner can still use.
@Suite struct AccountHistoryTests {
    @Test(arguments: UInt64(1)...6)
    func `an address is one account's or free, whatever broke off`(_ seed: UInt64) throws {
        #expect(try Self.faults(of: seed) == [])
    }

    @Test(arguments: UInt64(101)...112)
    func `a username is one account's or free, and never half given, whatever broke off`(_ seed: UInt64) throws {
        #expect(try Self.faults(of: seed, isAboutNames: true) == [])
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found`(mistake: ScriptMistake) throws {
        #expect(try Self.isFound(mistake, from: 1))
    }

    @Test(arguments: Self.mistakesOfNames)
    func `a mistake made on purpose with names is found`(mistake: ScriptMistake) throws {
        #expect(try Self.isFound(mistake, from: 101, isAboutNames: true))
    }

    private static func isFound(
        _ mistake: ScriptMistake, from first: UInt64, isAboutNames: Bool = false
    ) throws -> Bool {
        let substitutes = mistake.substitutes(in: Script.accounts)
        try #require(!substitutes.isEmpty, "no script has what this replaces")
        let redis = try SimulatedRedis(substitutes: substitutes)
        let found = (first..<first + 60).first { seed in
            // One that cannot be played to its end has found it, too.
            (try? faults(of: seed, isAboutNames: isAboutNames, redis: redis)) != []
        }
        print("\(mistake.name): found in history \(found.map(String.init) ?? "none")")
        return found != nil
    }

    private static func faults(
        of seed: UInt64, isAboutNames: Bool = false, redis: SimulatedRedis? = nil
    ) throws -> [String] {
        let history = try AccountHistory(seed: seed, isAboutNames: isAboutNames, redis: redis)
        for _ in 0..<(isAboutNames ? 60 : 40) { try history.step() }
        try history.settle()
        if isAboutNames { try history.checkNames() }
        try history.check()
        return history.faults
    }

    static let mistakes = [
        ScriptMistake(
            name: "another's address is nobody's, whatever their account says", old: "return { 'OK', '1' }",
            new: "return { 'OK', '0' }"),
        ScriptMistake(name: "a sign-up takes an address that is taken", old: "if taken then", new: "if false then"),
        ScriptMistake(
            name: "an account does not say by which wish it has its address",
            old: "'emailClaim', ARGV[7], 'verified'", new: "'verified'"),
    ]

    static let mistakesOfNames = [
        ScriptMistake(
            name: "an address is taken from another account",
            old: "if user ~= ARGV[5] then return { 'TAKEN', claim } end", new: ""),
        ScriptMistake(
            name: "a deleted account keeps its username", old: "abandon(KEYS[11], KEYS[10], ARGV[6], KEYS[12])",
            new: ""),
        ScriptMistake(
            name: "an account that is made with a username does not show it in its profile",
            old: "profile.username = '\"' .. shownOf(KEYS[3]) .. '\"'", new: ""),
    ]
}
