import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random histories of all ways to sign in: each account is entered by the person alone who proves to be its holder, and none is
/// lost. An identity or an address is of one account at most. Nothing of a deleted account is left, and its names are free. The
/// last way into an account stays.
@Suite("Whatever dies, an account is its holder's") struct SignInHistoryTests {
    private static let most = 60

    @Test func `each entry leads its owner into their account, and nobody else`() async throws {
        let sum = try await DrawnHistories<SignInHistory>(count: Self.most).run()
        expect(sum.faults, equals: [])
        print("sign-ins: \(sum)")
        // The histories reach the cases under test.
        guard Seeds.isWhole else { return }
        for (what, least) in [
            "entered": 400, "made": 300, "links": 60, "unlinks": 3, "takeovers": 20, "upgrades": 20, "resets": 10,
            "deleted": 100, "swept": 50, "codes": 100, "harms": 60,
        ] { expect(sum[what] > least, "\(what)") }
    }

    @Test(arguments: Self.mistakes) func `a mistake made on purpose is found by its own fault`(mistake: ScriptMistake)
        async throws
    {
        let fault = try await DrawnHistories<SignInHistory>.find(mistake, in: Script.accounts, count: Self.most)
        expect(fault.map(mistake.isFound), equals: true, "\(fault ?? "not found")")
    }

    static let mistakes: [ScriptMistake] = [
        ScriptMistake(
            name: "an address that nobody proved counts as verified, and identities are linked by it",
            at: "upgrade-is-proved", becomes: "    if true then", faults: ["as verified"], seed: 2),
        ScriptMistake(
            name: "the claim of an unlinked identity is forgotten", at: "gives-up-identities", faults: ["is left"],
            seed: 9),
        ScriptMistake(
            name: "a deleted account's claims on identities are forgotten", at: "deletion-gives-up-identities",
            faults: ["is left", "are left"], seed: 41),
        ScriptMistake(name: "a code works for ever", at: "code-works-once", faults: ["used twice"], seed: 1),
        ScriptMistake(
            name: "an account with an identity stays a guest", at: "identified-is-no-guest",
            becomes: "redis.call('HDEL', userKey, 'identityWanted')", faults: ["is a guest"], seed: 2),
        ScriptMistake(
            name: "the last way in is taken away", at: "last-way-in-stays", faults: ["has a way in: false"], seed: 7),
        ScriptMistake(
            name: "an identity is taken from another account", at: "address-is-anothers",
            faults: ["is claimed by", "leads into"]),
        ScriptMistake(
            name: "the maker's password survives the proof of the address", at: "proof-ends-password",
            faults: ["the password of"], seed: 1),
        ScriptMistake(
            name: "the maker's identities survive the proof of the address", at: "proof-ends-identities",
            faults: ["an identity of"], seed: 2),
        ScriptMistake(
            name: "the maker's devices survive the proof of the address", at: "proof-ends-devices",
            faults: ["sees", "stays in", "an identity of"]),
        ScriptMistake(
            name: "another person's identities survive a reset", at: "reset-ends-identities",
            faults: ["an identity of"], seed: 11),
    ]
}
